// Stands in for the host: a model of traits that no kernel answers. What was saved is shown, the rest says so.
const page = JSON.parse(document.getElementById("nf-page").textContent);

const bytes = (text) => {
  const codes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new DataView(codes.buffer);
};

const revived = (value) => {
  if (Array.isArray(value)) return value.map(revived);
  if (value === null || typeof value !== "object") return value;
  if (typeof value.$bytes === "string") return bytes(value.$bytes);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revived(item)]));
};

const state = new Map(Object.entries(revived(page.state)));
const overviews = new Map(page.overviews.map((saved) => [saved.frame, saved]));
const listeners = new Map();

const announce = (name) => {
  for (const listener of [...(listeners.get(name) ?? [])]) listener();
};

const put = (name, value) => {
  state.set(name, value);
  announce(`change:${name}`);
};

// Pictures of another depth, sample or reference would need the model.
const ours = new Set(["frame", "selected", "options", "wanted"]);

const model = {
  kernel: false,
  frames: [...overviews.keys()].filter(Number.isInteger).sort((a, b) => a - b),
  get: (name) => state.get(name),
  set: (name, value) => {
    if (!ours.has(name) || (name === "frame" && !overviews.has(value))) return;
    put(name, value);
    if (name === "frame") put("overview", revived(overviews.get(value)));
  },
  save_changes: () => undefined,
  send: () => undefined,
  on: (event, listener) => listeners.set(event, (listeners.get(event) ?? new Set()).add(listener)),
  off: (event, listener) => listeners.get(event)?.delete(listener),
};

const { signal } = new AbortController();
const { default: create } = await import(`data:text/javascript;base64,${page.script}`);
const widget = await create();
await widget.initialize?.({ model, signal });
await widget.render({ model, el: document.getElementById("nf"), signal });
