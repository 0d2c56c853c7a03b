// Comforts of the pages: keys, the size of text, words while something takes
// long. live.js comes before; every page works without either.
(() => {
  'use strict';
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  const on = (target, types, run, opts) => types.split(' ').forEach((t) => target.addEventListener(t, run, opts));
  const seen = (el) => el?.checkVisibility?.() ?? !!el?.offsetParent;

  // The look -------------------------------------------------------------------
  // The cookie is web/look.go's: theme.size.keys.

  const SIZES = ['small', '', 'large', 'larger'];
  function step(by) {
    const at = SIZES.indexOf(root.dataset.size || '');
    const size = SIZES[Math.min(Math.max(at + by, 0), SIZES.length - 1)];
    root.dataset.size = size;
    document.cookie = `look=${root.dataset.theme || ''}.${size}.${root.dataset.keys || ''}; path=/; max-age=31536000; samesite=lax`
      + (location.protocol === 'https:' ? '; secure' : '');
  }
  on(document, 'submit', (e) => {
    if (e.defaultPrevented || !e.target.hasAttribute('data-size')) return;
    e.preventDefault();
    step(Number(e.submitter?.value || 1));
  });

  // Something that takes long says so.
  on(document, 'submit', (e) => {
    const { busy } = e.target.dataset;
    if (e.defaultPrevented || !busy) return;
    const words = document.createElement('p');
    words.className = 'busy';
    words.setAttribute('role', 'status');
    e.target.append(words);
    words.textContent = busy;
  });
  on(window, 'pageshow', (e) => e.persisted && all('.busy').forEach((p) => p.remove()));

  // An export says how far it is, and can be given up; the browser keeps the file.
  on(document, 'click', (e) => {
    const link = e.target.closest('a[data-export]'), box = one('.exporting');
    if (!link || !box) return;
    const id = Array.from({ length: 4 }, () => Math.random().toString(36).slice(2, 8).padEnd(6, '0')).join('');
    link.href = `${link.dataset.export}?track=${id}`;
    const [words, bar, stop] = box.children, began = Date.now();
    const say = (text, making) => {
      if (words.textContent !== text) words.textContent = text;
      bar.hidden = stop.hidden = !making;
    };
    box.hidden = false;
    box.dataset.export = id; // one after it takes its place
    bar.removeAttribute('value');
    say('The file is being made.', true);
    stop.onclick = () => fetch(`/exports/${id}/giveup`, { method: 'POST' });
    const look = async () => {
      if (box.dataset.export !== id) return;
      let at;
      try {
        const answer = await fetch('/exports/' + id);
        at = answer.ok ? await answer.json() : { state: answer.status === 404 && Date.now() - began < 30_000 ? 'making' : 'lost' };
      } catch {
        at = { state: 'lost' };
      }
      if (at.of) Object.assign(bar, { max: at.of, value: at.done });
      box.dataset.state = at.state;
      if (at.state === 'making') return setTimeout(look, 300);
      say({ done: 'The file is made: the browser has it.', 'given-up': 'Given up: what the browser has of it is not whole.',
        failed: 'It broke off: the file is not whole. Try again.' }[at.state] || 'How far it is cannot be seen. The browser’s list of downloads knows.', false);
    };
    setTimeout(look, 100);
  });

  // An open menu closes at a tap beside it, and at Escape.
  on(document, 'click', (e) => all('details.more[open]').forEach((d) => d.contains(e.target) || (d.open = false)));

  // Keys -------------------------------------------------------------------------

  const sheet = document.getElementById('keys');
  on(document, 'click', (e) => e.target.closest('[data-keys-sheet]') && sheet?.showModal());
  const go = (to) => () => location.assign(to);
  const press = (selector) => () => {
    const el = all(selector).find(seen);
    el?.click();
    return !!el;
  };
  const wrap = () => { // it stands in a menu
    const el = one('[data-wrap]');
    el?.click();
    return !!el;
  };
  const focus = (selector) => () => {
    const el = all(selector).find((e) => seen(e) && !e.disabled);
    el?.focus();
    return !!el;
  };
  const row = (by) => () => {
    const rows = all('#sessions .row').filter(seen);
    const at = rows.indexOf(document.activeElement);
    const here = at < 0 ? rows.findIndex((r) => r.hasAttribute('aria-current')) : at;
    const next = rows[here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
    return !!next;
  };
  const keys = {
    '?': () => sheet?.showModal(),
    '/': () => focus('input[type=search]')() || location.assign('/#search'),
    n: go('/sessions/new'), j: row(1), k: row(-1),
    c: focus('[data-testid=composer-input]'), p: focus('pre.pane:not(.aside), .talking'), a: focus('[data-testid=prompt-option]'),
    l: press('[data-follow]'), w: wrap, '+': () => step(1), '-': () => step(-1),
    'g s': go('/'), 'g r': go('/runners'), 'g t': go('/settings'),
    'g h': () => {
      const id = /^\/sessions\/s_\w+/.exec(location.pathname);
      if (id) location.assign(id[0] + '/history');
    },
  };
  const writes = (el) => el.isContentEditable || /^(input|textarea|select)$/.test(el.localName) && !/^(checkbox|radio|range|button|submit)$/.test(el.type);

  let first = '', firstAt = 0;
  on(document, 'keydown', (e) => {
    if (e.defaultPrevented || e.isComposing || e.ctrlKey || e.metaKey || e.altKey || sheet?.open) return;
    if (e.key === 'Escape') {
      const menu = one('details.more[open]');
      if (menu) {
        menu.open = false;
        menu.firstElementChild.focus();
      } else if (writes(e.target) && !(e.target.type === 'search' && e.target.value)) e.target.blur();
      return;
    }
    if (!sheet || root.dataset.keys === 'off' || writes(e.target) || e.repeat && !/^[jk+-]$/.test(e.key)) return;
    const both = e.timeStamp - firstAt < 1500 && first ? first + ' ' + e.key : '';
    first = !both && e.key === 'g' ? 'g' : '';
    firstAt = e.timeStamp;
    const run = keys[both] || !both && keys[e.key];
    if (!run) return;
    e.preventDefault();
    run();
  });
  if (location.hash === '#search') focus('input[type=search]')();
})();
