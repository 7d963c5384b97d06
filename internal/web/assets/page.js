// Keeps the page up to date and makes it usable by keyboard. Without this script
// everything is there, as it was when the page was asked for.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const main = $('main');

  // Theme: the system's, unless the reader chose another one.
  const root = document.documentElement;
  const stored = () => { try { return localStorage.getItem('theme'); } catch { return null; } };
  const dark = () => (root.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  if (stored()) root.dataset.theme = stored();
  const nameTheme = () => { $('theme').textContent = dark() ? 'Light' : 'Dark'; };
  const toggleTheme = () => {
    root.dataset.theme = dark() ? 'light' : 'dark';
    try { localStorage.setItem('theme', root.dataset.theme); } catch { /* it lasts until the page is left */ }
    nameTheme();
  };
  $('theme').hidden = false;
  $('keys').hidden = false;
  nameTheme();
  $('theme').addEventListener('click', toggleTheme);
  $('keys').addEventListener('click', () => $('help').showModal());

  // Times: "12 s ago", with the reader's own clock and zone in the tooltip.
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const ago = (ms) => {
    const s = Math.round((Date.now() - ms) / 1000);
    const far = Math.abs(s);
    if (far < 1) return 'now';
    const [size, unit] = units.find(([n]) => far >= n);
    const text = `${Math.floor(far / size)} ${unit}`;
    return s < 0 ? `in ${text}` : `${text} ago`;
  };
  const tell = (within) => {
    for (const t of within.querySelectorAll('time[data-ago]')) {
      const at = Date.parse(t.dateTime);
      if (Number.isNaN(at)) continue;
      const text = ago(at);
      if (t.textContent !== text) t.textContent = text;
      if (!t.title) t.title = new Date(at).toLocaleString();
    }
  };
  tell(document);
  setInterval(() => tell(document), 1000);

  // morph makes one element like another and touches only what differs, so
  // that focus, selection, scrolling and opened details stay.
  const keyOf = (n) => (n.nodeType === 1 ? n.id || n.dataset.key || '' : '');
  const sameKind = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && keyOf(a) === keyOf(b);
  const morph = (from, to) => {
    if (from.nodeType !== 1) {
      if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      return;
    }
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(name === 'open' && from.nodeName === 'DETAILS') && !(name === 'title' && from.nodeName === 'TIME')) from.removeAttribute(name);
    }
    for (const { name, value } of to.attributes) {
      if (name === 'open' && from.nodeName === 'DETAILS') continue;
      if (from.nodeName === 'INPUT' && name === 'value') continue;
      if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
    if (from.nodeName === 'TIME') return; // tell writes it
    const keyed = new Map();
    for (const c of from.children) if (keyOf(c)) keyed.set(keyOf(c), c);
    let at = from.firstChild;
    for (const want of [...to.childNodes]) {
      const key = keyOf(want);
      let have = at;
      if (key && keyed.has(key)) have = keyed.get(key);
      if (have && sameKind(have, want)) {
        if (have !== at) from.insertBefore(have, at); else at = at.nextSibling;
        morph(have, want);
      } else {
        from.insertBefore(document.importNode(want, true), at);
      }
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  };

  // The stream: each event is the main part as it is now.
  const link = $('link');
  const say = (cls, text) => { link.hidden = false; link.className = `link ${cls}`; link.replaceChildren(Object.assign(document.createElement('span'), { textContent: text })); };
  let source = null;
  const follow = () => {
    const stream = document.body.dataset.stream;
    if (!stream || source) return;
    source = new EventSource(stream);
    source.addEventListener('open', () => say('live', 'live'));
    source.addEventListener('error', () => say('lost', 'not connected'));
    source.addEventListener('main', (e) => {
      say('live', 'live');
      const next = document.createElement('main');
      next.innerHTML = e.data;
      for (const name of ['id', 'tabindex']) next.setAttribute(name, main.getAttribute(name));
      const row = main.querySelector('tr.at');
      morph(main, next);
      tell(main);
      if (row && row.isConnected) row.classList.add('at');
      main.dispatchEvent(new Event('updated'));
    });
  };
  const leave = () => { if (source) { source.close(); source = null; } };
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : follow()));
  addEventListener('pagehide', leave);
  addEventListener('pageshow', follow);
  if (!document.hidden) follow();

  // Keys.
  const rows = () => [...main.querySelectorAll('table.list tbody tr')].filter((r) => r.offsetParent);
  const step = (by) => {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((r) => r.classList.contains('at'));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (at >= 0) all[at].classList.remove('at');
    next.classList.add('at');
    next.querySelector('a')?.focus({ preventScroll: true });
    next.scrollIntoView({ block: 'nearest' });
  };
  const rebalance = (by) => {
    const all = [...main.querySelectorAll('#past tbody tr')];
    const at = all.findIndex((r) => r.classList.contains('selected'));
    const next = all[at + by];
    if (next) location.assign(next.querySelector('a').href);
  };
  const goto = { g: '/', t: '/topics', b: '/broker' };
  let before = '';
  document.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target.closest('input, textarea, select')) {
      if (e.key === 'Escape') e.target.blur();
      return;
    }
    if ($('help').open) return;
    const first = before;
    before = '';
    if (first === 'g' && goto[e.key]) { location.assign(goto[e.key]); return; }
    switch (e.key) {
      case 'g': before = 'g'; setTimeout(() => { before = ''; }, 1200); break;
      case '/': { const q = $('q'); if (q) { e.preventDefault(); q.focus(); q.select(); } break; }
      case 'j': step(1); break;
      case 'k': step(-1); break;
      case '[': rebalance(1); break;
      case ']': rebalance(-1); break;
      case 't': toggleTheme(); break;
      case '?': $('help').showModal(); break;
      default:
    }
  });
})();
