// Makes live nodes equal to freshly rendered ones in place, so that focus, scrolling and loaded
// pictures stay. Children with an id are matched by it. What a script owns (data-own) is left alone.

export function morph(live, fresh) {
  if (live.hasAttribute("data-own")) return;
  for (const { name } of [...live.attributes]) {
    if (!fresh.hasAttribute(name) && !kept(live, name)) live.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (live.getAttribute(name) !== value && !kept(live, name)) live.setAttribute(name, value);
  }
  children(live, fresh);
}

/** A details element that the reader opened stays open. */
const kept = (node, name) => (name === "open" && node.localName === "details");

function children(live, fresh) {
  let at = live.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const twin = wanted.id ? byId(live, wanted.id) : at;
    if (twin && same(twin, wanted)) {
      if (twin !== at) live.insertBefore(twin, at);
      else at = at.nextSibling;
      if (twin.nodeType === Node.ELEMENT_NODE) morph(twin, wanted);
      else if (twin.nodeValue !== wanted.nodeValue) twin.nodeValue = wanted.nodeValue;
    } else {
      live.insertBefore(document.importNode(wanted, true), at);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const byId = (parent, id) => [...parent.children].find((child) => child.id === id);
const same = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "");
