/** Entry points of the widget: what belongs to the model is made once, what belongs to a view once per view. */
import { createInterest, type Interest } from "./interest";
import { createWidgetState, type Model, untracked, type WidgetState, watch } from "./state";
import { createApp } from "./view/app";

interface Shared {
  readonly widget: WidgetState;
  readonly interest: Interest;
}

interface InitializeProps {
  readonly model: Model;
  /** Hosts before anywidget 0.11 give none, and call what is returned instead. */
  readonly signal?: AbortSignal;
}

interface RenderProps extends InitializeProps {
  readonly el: HTMLElement;
}

/** State and interest of a model, joined to its traits. */
function connect(model: Model, end: AbortSignal): Shared {
  const widget = createWidgetState(model, end);
  const seq = widget.wanted.peek().seq;
  const interest = createInterest({ seq, send: (wanted) => widget.write("wanted", wanted) }, end);
  watch(end, () => {
    const tiles = widget.tiles.value;
    if (tiles !== null) untracked(() => interest.accept(tiles));
  });
  watch(end, () => {
    const { state } = widget.status.value;
    untracked(() => interest.heard(state));
  });
  watch(end, () => {
    const wanted = widget.wanted.value;
    untracked(() => interest.overtaken(wanted));
  });
  return { widget, interest };
}

export default () => {
  let shared: Shared | undefined;
  return {
    initialize({ model, signal }: InitializeProps): () => void {
      const own = new AbortController();
      shared = connect(model, signal ?? own.signal);
      return () => own.abort();
    },
    render({ model, el, signal }: RenderProps): () => void {
      const own = new AbortController();
      const end = signal ?? own.signal;
      createApp(shared ?? connect(model, end), el, end);
      return () => own.abort();
    },
  };
};
