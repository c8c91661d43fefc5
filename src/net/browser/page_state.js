// Returns the state of the page. Arguments: the marks, the maximum number of characters of HTML, and whether to return the
// HTML in any case.
const [marks, limit, isLast] = arguments;
// The browser shows this before it shows the site.
if (location.href === 'about:blank') return {stage: 'none'};
if (document.documentURI.startsWith('chrome-error:')) return {stage: 'error'};
const squeeze = text => String(text).replace(/\s+/g, ' ');
const seen = {};
const once = (name, read) => name in seen ? seen[name] : seen[name] = read();
const html = () => once('html', () => document.documentElement ? document.documentElement.outerHTML : '');
const shown = () => once('shown', () => squeeze(document.body ? document.body.innerText : ''));
const written = () => once('written', () => squeeze(document.body ? document.body.textContent : ''));
// CSS may show a text in capitals that are lower case in the document.
const shows = text => shown().includes(text)
  || (shown().toLowerCase().includes(text.toLowerCase()) && written().includes(text));
const fits = ({kind, value}) => {
  try {
    switch (kind) {
      case 'css': return document.querySelector(value) !== null;
      case 'text': return shows(squeeze(value).trim());
      case 'source': return html().includes(value);
      case 'title': return new RegExp(value, 'm').test(squeeze(document.title).trim());
      case 'url': return new RegExp(value, 'm').test(location.href);
      default: return false;
    }
  } catch {
    return false;
  }
};
const state = document.readyState;
const navigation = performance.getEntriesByType('navigation')[0];
const status = (navigation && navigation.responseStatus) || 200;
// A page that is still being parsed may turn out to be a challenge page.
const isReady = state !== 'loading' && (marks.length ? marks.some(fits) : state === 'complete');
const answer = {stage: 'page', state, status, isReady, url: location.href};
if (isReady || (isLast && state !== 'loading')) {
  const text = html();
  answer.html = text.slice(0, limit);
  if (answer.html.toWellFormed) answer.html = answer.html.toWellFormed();
  answer.isCut = text.length > limit;
}
return answer;
