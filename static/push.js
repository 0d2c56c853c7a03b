// The button of the settings page that has this browser take notifications.
(() => {
  'use strict';
  const box = document.querySelector('[data-push]');
  const words = box.querySelector('[data-push-words]');
  const button = box.querySelector('[data-push-on]');
  const say = (text) => { words.textContent = text; };

  const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));

  async function keep(subscription) {
    const body = new URLSearchParams({
      endpoint: subscription.endpoint,
      p256dh: base64(subscription.getKey('p256dh')),
      auth: base64(subscription.getKey('auth')),
    });
    const answer = await fetch('/settings/push', { method: 'POST', body });
    if (!answer.ok) throw new Error('The console did not take the subscription.');
  }

  async function turnOn() {
    button.setAttribute('aria-busy', 'true');
    try {
      if (await Notification.requestPermission() !== 'granted') {
        return say('This browser does not let Signalbox notify you. Allow notifications for this site in its settings, then try again.');
      }
      const worker = await navigator.serviceWorker.ready;
      const key = bytes(box.dataset.push);
      const old = await worker.pushManager.getSubscription();
      if (old && base64(old.options.applicationServerKey) !== box.dataset.push) await old.unsubscribe();
      await keep(await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
      location.reload();
    } catch (err) {
      say(`Notifications could not be turned on: ${err.message}`);
    } finally {
      button.removeAttribute('aria-busy');
    }
  }

  async function begin() {
    if (!window.isSecureContext) return say('Browsers take notifications only from https addresses and from this machine itself. Reach the console by https to turn them on here.');
    if (!('serviceWorker' in navigator) || !('PushManager' in window)) return say('This browser takes no notifications. On an iPhone or iPad, add Signalbox to the home screen first.');
    const worker = await navigator.serviceWorker.ready;
    const here = await worker.pushManager.getSubscription();
    const kept = document.querySelector('[data-push-off]');
    if (here && kept && Notification.permission === 'granted') return say('This browser is told.');
    if (here && !kept) await here.unsubscribe(); // turned off, here or elsewhere
    say('This browser is not told yet.');
    button.hidden = false;
  }
  button.addEventListener('click', turnOn);
  begin();
})();
