// Signalbox while its page is closed, or the console out of reach. It shows what it
// is sent, opens what is tapped, and keeps the last pages that were read, each of
// which then says from when it is.
'use strict';
const PAGES = 'pages', FILES = 'files', MOST = 30;

self.addEventListener('install', (e) => {
  e.waitUntil(caches.open(FILES).then((c) => c.add('/offline')).then(() => self.skipWaiting()));
});
self.addEventListener('activate', (e) => e.waitUntil(self.clients.claim()));

// Notifications -------------------------------------------------------------

self.addEventListener('push', (e) => {
  let n = {};
  try { n = e.data.json(); } catch { /* a service's own test: shown as such */ }
  e.waitUntil(show(n));
});

// A browser lets a site that shows nothing for a push have no more of them, so what
// is settled is shown too, without a sound, and taken away.
async function show(n) {
  const windows = await self.clients.matchAll({ type: 'window' });
  const looking = windows.some((w) => w.focused && new URL(w.url).pathname === String(n.url).split('#')[0]);
  await self.registration.showNotification(n.title || 'Signalbox', {
    body: n.body || '', tag: n.tag, data: { url: n.url || '/' },
    silent: !!n.quiet || looking, renotify: !!n.tag && !n.quiet && !looking,
    requireInteraction: n.kind === 'needs-you' && !n.over,
  });
  if (n.over) (await self.registration.getNotifications({ tag: n.tag })).forEach((one) => one.close());
}

self.addEventListener('notificationclick', (e) => {
  e.notification.close();
  e.waitUntil(open(e.notification.data?.url || '/'));
});

async function open(path) {
  const windows = await self.clients.matchAll({ type: 'window' });
  for (const w of windows) {
    try {
      await w.navigate(path);
      return await w.focus();
    } catch { /* not ours to steer: try the next */ }
  }
  return self.clients.openWindow(path);
}

// Pages ---------------------------------------------------------------------

self.addEventListener('fetch', (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== 'GET' || url.origin !== self.location.origin) return;
  if (url.pathname.startsWith('/static/')) e.respondWith(file(e.request));
  else if (e.request.mode === 'navigate') e.respondWith(page(e.request, url));
});

// Files have their content in their name, so what is kept is what it would be.
async function file(request) {
  const cache = await caches.open(FILES);
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) cache.put(request, answer.clone());
  return answer;
}

const readable = (path) => path === '/' || path === '/runners' || /^\/sessions\/s_\w+$/.test(path);

async function page(request, url) {
  let answer;
  try {
    answer = await fetch(request);
  } catch (err) {
    return (await kept(url)) || (await caches.match('/offline')) || Promise.reject(err);
  }
  if (new URL(answer.url || request.url).pathname === '/login' || answer.type === 'opaqueredirect' && !readable(url.pathname)) {
    await caches.delete(PAGES); // signed out: what was read here is nobody's now
  } else if (answer.ok && !answer.redirected && readable(url.pathname)) {
    keep(url, answer.clone());
  }
  return answer;
}

async function keep(url, answer) {
  const cache = await caches.open(PAGES);
  const headers = new Headers(answer.headers);
  headers.set('x-kept', new Date().toISOString());
  const key = url.pathname + url.search;
  await cache.delete(key); // so that it stands last
  await cache.put(key, new Response(await answer.blob(), { headers }));
  const keys = await cache.keys();
  await Promise.all(keys.slice(0, Math.max(0, keys.length - MOST)).map((old) => cache.delete(old)));
}

// kept is a page as it was read last, with its time in it.
async function kept(url) {
  const found = await (await caches.open(PAGES)).match(url.pathname + url.search);
  if (!found) return null;
  const html = await found.text();
  return new Response(html.replace('<html ', `<html data-from="${found.headers.get('x-kept')}" `), { headers: found.headers });
}
