// Signalbox in the browser. Every page works without this file; with it, pages
// change by themselves and forms are kinder.
//
// Protocol. An element with data-live="PATH" opens a websocket to PATH. The
// server sends text messages of HTML fragments, elements that each have the id
// of one in the page; each is morphed into its counterpart. The pane, a <pre> of
// <span class="ln"> lines, comes first in its message and is patched by lines: data-take
// says of which old lines ("FROM+COUNT") and which of its own ("COUNT") it is made, and
// data-sum what must come of it, or else the page connects anew. An entry of a
// conversation has data-talk and stands behind the one that its data-after names;
// one with data-gone is there no more, and a list with data-only names all there are.
// The first message is the whole current state, later ones what changed. An
// empty message every 15 s says that the server is there. Close code 4401 means
// signed out. Elements with data-keep are never touched.
(() => {
  'use strict';
  const SILENT = 40_000; // ms without a word after which a socket counts as dead
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const on = (target, types, run, opts) => types.split(' ').forEach((t) => target.addEventListener(t, run, opts));
  root.classList.add('js');

  // Patches ------------------------------------------------------------------

  const parser = document.createElement('template');
  const typed = (el) => 'defaultValue' in el && el.type !== 'hidden' &&
    (el.value !== el.defaultValue || el.checked !== el.defaultChecked);
  const ours = new Set(['data-asked', 'data-sent', 'aria-busy']); // attributes set here, not by the server
  const rules = {
    morphStyle: 'outerHTML',
    // What is being written is left alone. Of any other element with the focus, a
    // part that scrolls or took it over, this would keep all that is in it as it was.
    get ignoreActiveValue() { return 'value' in (document.activeElement || {}) && document.activeElement.localName !== 'button'; },
    callbacks: {
      beforeNodeMorphed: (old, now) =>
        old.nodeType !== 1 || !(old.hasAttribute('data-keep') || typed(old) || old.isEqualNode(now)),
      beforeNodeRemoved: (old) => // a half-typed edit outlives its message
        !(old.nodeType === 1 && old.matches('[data-hold]') && all('textarea', old).some(typed)),
      beforeAttributeUpdated: (name, el) => !(ours.has(name) || (name === 'open' && el.localName === 'details')),
    },
  };

  // The title and the icon say how many sessions need the owner.
  const icon = document.querySelector('link[rel=icon]');
  let title = document.title.replace(/^\(\d+\) /, ''), needing = +document.getElementById('needs')?.dataset.needs || 0;
  function name(said) {
    if (!said.title && !said.needs) return;
    title = said.title || title;
    needing = +(said.needs ?? needing);
    const words = (needing ? `(${needing}) ` : '') + title, icons = icon.dataset.icons.split(' ');
    if (document.title !== words) document.title = words;
    const href = icons[Math.min(needing, icons.length - 1)];
    if (icon.getAttribute('href') !== href) icon.setAttribute('href', href);
  }

  // Who used an element that a patch takes away goes on where it was.
  function apply(html) {
    const had = document.activeElement, around = [];
    for (let e = had; e && e !== document.body; e = e.parentElement) e.id && around.push(e.id);
    patch(html);
    if (!around.length && !live?.contains(had) || had.isConnected || document.activeElement !== document.body) return;
    for (const id of [...around, 'main']) {
      const to = document.getElementById(id);
      if (to && to.tabIndex < 0) to.tabIndex = -1;
      to?.focus({ preventScroll: true });
      if (to && document.activeElement === to) return;
    }
  }

  function patch(html) {
    if (html.startsWith('<pre ')) {
      const end = html.indexOf('</pre>');
      if (!patchPane(html.slice(0, end))) return socket.close(); // the next one has all of it
      html = html.slice(end + 6);
    }
    if (!html) return;
    parser.innerHTML = html;
    for (const now of [...parser.content.children]) {
      const old = document.getElementById(now.id);
      if (now.dataset.talk) {
        patchEntry(now);
        continue;
      }
      if ('only' in now.dataset) {
        const only = new Set(now.dataset.only.split(' '));
        [...old?.children || []].forEach((e) => only.has(e.id) || e.remove());
        continue;
      }
      if (!old) continue;
      if ('gone' in now.dataset) {
        waiting.delete(now.id);
        old.remove();
        continue;
      }
      name(now.dataset);
      Idiomorph.morph(old, now, rules);
    }
  }

  // The conversation ---------------------------------------------------------

  const waiting = new Map(); // entries that wait while text in them is selected, by id

  function patchEntry(now) {
    const list = document.getElementById('talk-' + now.dataset.talk);
    if (!list) return;
    const old = document.getElementById(now.id);
    if (old && selectedIn(old)) {
      waiting.set(now.id, now);
      return;
    }
    waiting.delete(now.id);
    look();
    if (old) Idiomorph.morph(old, now, rules);
    const entry = old || now;
    if ((entry.previousElementSibling?.id || '') !== entry.dataset.after || entry.parentNode !== list) {
      const before = document.getElementById(entry.dataset.after);
      before ? before.after(entry) : list.prepend(entry);
    }
    if (following) requestAnimationFrame(keepUp);
  }

  // The pane -----------------------------------------------------------------

  const BETWEEN = '</span><span class="ln">';
  const scroller = document.querySelector('[data-scroll]');
  const latest = document.querySelector('[data-follow]');
  let following = true; // the reader is at the end of the output
  let known = []; // the HTML of each line that the server has sent
  let shown = null; // of each line in the pane, null until the first patch
  let held = null; // a patch that waits while text in the pane is selected

  function patchPane(html) {
    const start = html.indexOf('>') + 1;
    const said = (name) => new RegExp(` ${name}="([^"]*)"`).exec(html.slice(0, start))?.[1];
    const lines = html.length > start ? html.slice(start + 17, -7).split(BETWEEN) : [];
    const take = said('data-take');
    let at = 0;
    known = !take ? lines : take.split(' ').flatMap((part) => {
      const [from, count] = part.split('+').map(Number);
      return count ? known.slice(from, from + count) : lines.slice(at, at += from);
    });
    if (take && sum(known) !== said('data-sum')) return false;
    held = { id: said('id'), lines: known, seq: said('data-seq') };
    showPane();
    return true;
  }

  function sum(lines) { // as paneSum in web/panepatch.go
    let h = 2166136261;
    for (const line of lines) {
      for (let i = 0; i < line.length; i++) h = Math.imul(h ^ line.charCodeAt(i), 16777619);
      h = Math.imul(h, 16777619);
    }
    return (h >>> 0).toString(36);
  }

  function showPane() {
    const { id, lines, seq } = held, pane = document.getElementById(id);
    if (!pane || selectedIn(pane)) return;
    held = null;
    look();
    if (shown) patchLines(pane, lines);
    else pane.innerHTML = lines.length ? '<span class="ln">' + lines.join(BETWEEN) + '</span>' : '';
    shown = lines;
    pane.dataset.seq = seq;
    if (following) requestAnimationFrame(keepUp); // a layout of its own would hold the text up
  }

  function patchLines(pane, next) {
    // A pane that is a window on the end of a longer text loses lines at its top.
    const gone = shown.indexOf(next[0]);
    if (gone > 0 && [1, 2, 3].every((i) => shown[gone + i] === next[i])) {
      for (let i = 0; i < gone; i++) pane.firstChild.remove();
      shown.splice(0, gone);
    }
    let line = pane.firstChild;
    const both = Math.min(shown.length, next.length);
    for (let i = 0; i < both; i++, line = line.nextSibling) {
      if (shown[i] === next[i]) continue;
      if (/[<&]/.test(next[i]) || line.firstChild?.nodeType !== 3) line.innerHTML = next[i];
      else if (line.childNodes.length === 1) line.firstChild.data = next[i];
      else line.textContent = next[i];
    }
    for (let i = both; i < shown.length; i++) pane.lastChild.remove();
    if (next.length > both) {
      pane.insertAdjacentHTML('beforeend', '<span class="ln">' + next.slice(both).join(BETWEEN) + '</span>');
    }
  }

  function selectedIn(pane) {
    const s = getSelection();
    return !s.isCollapsed && s.rangeCount > 0 && s.getRangeAt(0).intersectsNode(pane);
  }
  // A browser tells of scrolling a frame later, and a patch may come before that.
  // A place nobody moved keeps what was known of it: the pane may have changed size.
  let place = -1; // the scroll offset that following speaks of, px
  function look() {
    if (!scroller || scroller.scrollTop === place) return;
    place = scroller.scrollTop;
    following = scroller.scrollHeight - place - scroller.clientHeight < 24;
    latest.hidden = following;
  }
  function toEnd() {
    if (!scroller) return;
    scroller.scrollTop = scroller.scrollHeight;
    place = scroller.scrollTop;
  }
  function keepUp() {
    look();
    if (following) toEnd();
  }
  on(document, 'selectionchange', () => {
    if (held) showPane();
    waiting.forEach(patchEntry);
  });
  if (scroller) {
    toEnd();
    on(scroller, 'scroll', look, { passive: true });
    new ResizeObserver(keepUp).observe(scroller);
    on(scroller, 'click', (e) => { // who unfolds something reads it
      if (e.target.closest('summary')) requestAnimationFrame(() => { place = -1; look(); });
    });
    on(latest, 'click', () => { toEnd(); following = latest.hidden = true; });
  }

  // The reader's time zone ---------------------------------------------------
  // The server tells times in the zone that this cookie names (web/zone.go). A page
  // that came before it knew is told anew by its socket, or else comes again.

  const live = document.querySelector('[data-live]');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const named = () => document.cookie.split('; ').includes('zone=' + zone);
  if (zone && !named()) {
    document.cookie = `zone=${zone}; path=/; max-age=31536000; samesite=lax` + (location.protocol === 'https:' ? '; secure' : '');
    if (named() && !live && 'again' in root.dataset && !root.dataset.from) location.reload();
  }

  // The socket ---------------------------------------------------------------

  const sign = document.querySelector('[data-testid=connection]');
  const clock = (ms) => { // as clock in web/words.go
    const at = new Date(ms), now = new Date();
    return at.toTimeString().slice(0, 5) + (at.toDateString() === now.toDateString() ? ''
      : ' on ' + at.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: now - at < 300 * 864e5 ? undefined : 'numeric' }));
  };
  let socket, retry, tries = 0, started = 0, heard = Date.parse(root.dataset.from) || Date.now(); // a kept page says from when it is

  function say(state) {
    if (!sign) return;
    const words = state === 'live' ? 'Live'
      : (state === 'offline' ? 'Offline' : 'Reconnecting') + `. What you see is from ${clock(heard)}.`;
    if (sign.dataset.state !== state) sign.dataset.state = state;
    const text = sign.querySelector('[data-words]');
    if (text.textContent !== words) text.textContent = words;
  }

  function connect() {
    clearTimeout(retry);
    if (socket) socket.onmessage = socket.onclose = null, socket.close();
    const url = new URL(live.dataset.live, location);
    url.protocol = url.protocol.replace('http', 'ws');
    if (matchMedia('(min-width: 768px)').matches) url.searchParams.set('list', '1'); // it stands beside
    started = Date.now();
    socket = new WebSocket(url);
    live.dataset.live = live.dataset.live.replace(/([?&])have=\w*&?/, '$1'); // it speaks of the page as it came
    socket.onmessage = (e) => {
      heard = Date.now();
      tries = 0;
      if (e.data) apply(e.data);
      if (sign?.dataset.state !== 'live') say('live');
    };
    socket.onclose = (e) => {
      if (e.code === 4401) return location.assign('/login');
      say(navigator.onLine === false || tries > 5 ? 'offline' : 'reconnecting');
      retry = setTimeout(connect, Math.min(15_000, 500 * 2 ** tries++) * (0.75 + Math.random() / 2));
    };
  }

  function wake() {
    if (document.visibilityState === 'hidden') return;
    const state = socket?.readyState, now = Date.now();
    if (state === WebSocket.OPEN && now - Math.max(heard, started) < SILENT) return;
    if (state === WebSocket.CONNECTING && now - started < 5000) return;
    tries = 0;
    connect();
  }

  if (window.isSecureContext && 'serviceWorker' in navigator) navigator.serviceWorker.register('/sw.js');
  if (live) {
    say('reconnecting');
    connect();
    on(document, 'visibilitychange', wake);
    on(window, 'pageshow online', wake);
    on(window, 'offline', () => say('offline'));
    setInterval(() => socket.readyState === WebSocket.OPEN && wake(), 10_000);
  }

  const units = [[864e5, 'd'], [36e5, 'h'], [6e4, 'm']];
  setInterval(() => all('time[data-age]').forEach((t) => {
    const ms = Date.now() - Date.parse(t.dateTime);
    const unit = units.find(([size]) => ms >= size);
    const words = unit ? `${Math.floor(ms / unit[0])} ${unit[1]}` : 'now';
    if (t.textContent !== words) t.textContent = words;
  }), 20_000);

  // Forms --------------------------------------------------------------------

  on(document, 'submit', (e) => {
    const form = e.target;
    if (form.hasAttribute('data-draft') && !form.elements.text.value.trim()) return e.preventDefault();
    if (form.hasAttribute('data-confirm')) {
      if (!form.hasAttribute('data-asked')) {
        all('[data-asked]').forEach((f) => f.removeAttribute('data-asked'));
        form.setAttribute('data-asked', '');
        return e.preventDefault();
      }
      form.elements.sure.value = '1';
    }
    if (form.hasAttribute('data-fit')) fit(form);
    if (!form.hasAttribute('data-once')) return;
    if (form.hasAttribute('data-sent')) return e.preventDefault();
    form.setAttribute('data-sent', '');
    e.submitter?.setAttribute('aria-busy', 'true');
    if (form.dataset.draft) localStorage.setItem('sent:' + form.dataset.draft, '1');
  });
  on(window, 'pageshow', (e) => e.persisted && all('[data-sent]').forEach((form) => {
    form.removeAttribute('data-sent');
    all('[aria-busy]', form).forEach((b) => b.removeAttribute('aria-busy'));
  }));

  // The engine's screen takes the size of the pane, in characters.
  function fit(form) {
    const pane = document.querySelector('pre.pane'), probe = document.createElement('span');
    probe.textContent = '0'.repeat(50);
    pane.append(probe);
    const { width, height } = probe.getBoundingClientRect(), style = getComputedStyle(pane);
    probe.remove();
    form.elements.cols.value = Math.floor((pane.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)) / (width / 50));
    form.elements.rows.value = Math.floor(scroller.clientHeight / (parseFloat(style.lineHeight) || height));
  }

  // A draft goes once the page that follows its sending has come.
  const composer = document.querySelector('form[data-draft]');
  if (composer) {
    const id = composer.dataset.draft, text = composer.elements.text;
    const arrived = performance.getEntriesByType('navigation')[0]?.type === 'navigate';
    if (localStorage.getItem('sent:' + id) && arrived) {
      localStorage.removeItem('draft:' + id);
      if (matchMedia('(pointer: fine)').matches) text.focus(); // on a desk one writes on
    }
    localStorage.removeItem('sent:' + id);
    text.value ||= localStorage.getItem('draft:' + id) || '';
    on(text, 'input', () => text.value ? localStorage.setItem('draft:' + id, text.value) : localStorage.removeItem('draft:' + id));
    on(text, 'keydown', (e) => {
      if (e.key !== 'Enter' || e.isComposing || e.shiftKey || e.altKey) return;
      if (!(e.ctrlKey || e.metaKey || matchMedia('(pointer: fine)').matches)) return;
      e.preventDefault();
      composer.requestSubmit(composer.querySelector('[data-testid=composer-send]'));
    });
  }

  if (!CSS.supports('field-sizing', 'content')) {
    const grow = (el) => { el.style.height = 'auto'; el.style.height = el.scrollHeight + 2 + 'px'; };
    all('[data-grow]').forEach((el) => el.value && grow(el));
    on(document, 'input', (e) => e.target.matches('[data-grow]') && grow(e.target));
  }

  // The folder is looked at while it is typed; the answer is fragments, as above.
  const check = document.querySelector('form[data-check]');
  if (check) {
    let asking, soon;
    const ask = async () => {
      asking?.abort();
      asking = new AbortController();
      const query = new URLSearchParams(new FormData(check));
      for (const name of ['instruction', 'title', 'command']) query.delete(name);
      query.set('check', '1');
      try {
        const answer = await fetch(check.dataset.check + '?' + query, { signal: asking.signal });
        if (answer.ok) apply(await answer.text());
      } catch { /* aborted by a newer question, or offline: the verdict stays as it was */ }
    };
    on(check, 'input change', (e) => {
      if (!e.target.matches('[data-recheck]')) return;
      clearTimeout(soon);
      soon = setTimeout(ask, e.type === 'input' && e.target.localName === 'input' ? 250 : 0);
    });
    if (check.elements.dir.value && !document.getElementById('workdir').firstElementChild) ask();
  }

  // Small controls -----------------------------------------------------------

  const wrap = document.querySelector('[data-wrap]'); // kept through patches
  function setWrap(off) {
    document.querySelector('pre.pane').classList.toggle('nowrap', off);
    wrap.textContent = off ? 'Wrap' : 'No wrap';
  }
  if (wrap && !/[?&]wrap=/.test(location.search) && localStorage.nowrap) setWrap(true);

  on(document, 'click', async (e) => {
    if (e.target.closest('[data-wrap]')) {
      e.preventDefault();
      const off = !document.querySelector('pre.pane').classList.contains('nowrap');
      off ? localStorage.setItem('nowrap', '1') : localStorage.removeItem('nowrap');
      setWrap(off);
    }
    const copy = e.target.closest('[data-copy]');
    if (copy) {
      const { copy: id, words = 'Copy' } = copy.dataset;
      const from = id ? document.getElementById(id) : copy.previousElementSibling;
      try {
        await navigator.clipboard.writeText(from.textContent);
        copy.textContent = 'Copied';
      } catch { // not allowed on this page: select it, so that the owner can
        getSelection().selectAllChildren(from);
        copy.textContent = 'Selected';
      }
      setTimeout(() => { copy.textContent = words; }, 1500);
    }
  });
  on(document, 'change', (e) => e.target.form?.hasAttribute('data-auto') && e.target.form.requestSubmit());

  // Where the keyboard covers the page instead of resizing it (Safari), the page
  // takes the height that is left.
  const view = window.visualViewport;
  if (view) on(view, 'resize scroll', () => {
    const covered = view.scale === 1 && view.height < innerHeight - 1;
    covered ? root.style.setProperty('--screen', view.height + 'px') : root.style.removeProperty('--screen');
    if (covered && document.body.classList.contains('shell')) scrollTo(0, 0);
  });
})();
