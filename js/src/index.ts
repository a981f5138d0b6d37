/** Entry points of the widget: what belongs to the model is made once, what belongs to a view once per view. */
import { createInterest, type Interest } from "./interest";
import type { Wanted } from "./protocol";
import { createWidgetState, type Model, onModel, untracked, type WidgetState, watch } from "./state";
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

/** Jupyter's connection to the kernel, where the host shows it. */
interface Host {
  readonly widget_manager?: { readonly kernel?: { readonly status?: string } | null };
}

function kernelOf(model: Model & Host): "busy" | "idle" | undefined {
  const status = model.widget_manager?.kernel?.status;
  return status === "busy" || status === "idle" ? status : undefined;
}

/** State and interest of a model, joined to its traits. */
function connect(model: Model, end: AbortSignal): Shared {
  const widget = createWidgetState(model, end);
  const send = (wanted: Wanted): void => widget.write("wanted", wanted);
  const interest = createInterest({ seq: widget.wanted.peek().seq, send, kernel: () => kernelOf(model) }, end);
  const saved = widget.status.peek();
  watch(end, () => {
    const tiles = widget.tiles();
    if (tiles) untracked(() => interest.accept(tiles));
  });
  watch(end, () => {
    const status = widget.status();
    // What a saved page holds is no sign of life.
    if (status !== saved) untracked(() => interest.heard(status.state));
  });
  watch(end, () => {
    const wanted = widget.wanted();
    untracked(() => interest.overtaken(wanted));
  });
  return { widget, interest };
}

/**
 * Jupyter marks the views of a model that has no kernel. When it loses one it tells the model, which never gets it back;
 * the mark is then not to be relied on, because anywidget takes the view's own listeners away.
 */
function followKernel(model: Model, el: HTMLElement, widget: WidgetState, end: AbortSignal): void {
  if (el.classList.contains("jupyter-widgets-disconnected")) widget.disconnect();
  onModel(model, "comm_live_update", widget.disconnect, end);
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
      const { widget, interest } = shared ?? connect(model, end);
      followKernel(model, el, widget, end);
      try {
        createApp({ widget, interest }, el, end);
      } catch (error) {
        // State that was made by hand or by another version, in a way that the guards of the wire do not know.
        reportError(error);
        el.textContent = `nf_widget cannot show this: ${error}`;
      }
      return () => own.abort();
    },
  };
};
