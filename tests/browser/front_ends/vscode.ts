/** What VS Code's extensions and its notebook renderer do around `@vscode/jupyter-ipywidgets8`, for one output. */
import { type Kernel, KernelManager, ServerConnection } from "@jupyterlab/services";
// @ts-expect-error: served beside this page; the package has no types.
import { activate } from "./ipywidgets.js";

type Json = Readonly<Record<string, unknown>>;

interface Manager {
  get_model(id: string): Promise<unknown>;
  create_view(model: unknown): Promise<unknown>;
  display_view(message: null, view: unknown, options: { node: HTMLElement }): Promise<unknown>;
  restoreWidgets(notebook: unknown, options: { loadKernel: boolean; loadNotebook: boolean }): Promise<void>;
  /** The state that the extension keeps beside the notebook. */
  get_state(options: { drop_defaults: boolean }): Promise<Json>;
}

declare const requirejs: { config(options: { paths: Record<string, string> }): void };
declare global {
  interface Window {
    vscIPyWidgets8: { load(): void };
    vscIPyWidgets: { WidgetManager: new (...parts: unknown[]) => Manager };
    nf: typeof api;
  }
}

activate();
window.vscIPyWidgets8.load();

let kernel: Kernel.IKernelConnection | undefined;
let manager: Manager;
const problems: string[] = [];

const scriptLoader = {
  widgetsRegisteredInRequireJs: new Set([
    "@jupyter-widgets/controls",
    "@jupyter-widgets/base",
    "@jupyter-widgets/output",
  ]),
  async loadWidgetScript(name: string): Promise<void> {
    requirejs.config({ paths: { [name]: `${location.origin}/nbextensions/${name}/index` } });
    this.widgetsRegisteredInRequireJs.add(name);
  },
  successHandler: () => undefined,
  errorHandler: (...parts: unknown[]) => problems.push(parts.map(String).join(" ")),
};

const output = () => document.getElementById("output")!;
const managerFor = (connection: unknown, state?: Json): Manager =>
  new window.vscIPyWidgets.WidgetManager(connection, output(), scriptLoader, () => undefined, state);

async function show(id: string): Promise<void> {
  const view = await manager.create_view(await manager.get_model(id));
  await manager.display_view(null, view, { node: output() });
}

/** A kernel connection that leads nowhere, as VS Code gives to notebooks that were opened and not run. */
function noKernel(): unknown {
  const signal = { connect: () => true, disconnect: () => true };
  const names = [
    "statusChanged",
    "connectionStatusChanged",
    "iopubMessage",
    "unhandledMessage",
    "disposed",
    "anyMessage",
  ];
  return {
    ...Object.fromEntries(names.map((name) => [name, signal])),
    id: "",
    name: "",
    clientId: "",
    username: "",
    connectionStatus: "disconnected",
    status: "unknown",
    handleComms: true,
    info: new Promise(() => undefined),
    registerCommTarget: () => undefined,
    removeCommTarget: () => undefined,
  };
}

const api = {
  problems,
  async connect(baseUrl: string, token: string): Promise<void> {
    const settings = { baseUrl, wsUrl: baseUrl.replace("http", "ws"), token, appendToken: true };
    const kernels = new KernelManager({ serverSettings: ServerConnection.makeSettings(settings) });
    await kernels.ready;
    kernel = await kernels.startNew({ name: "python3" });
    await kernel.info;
    kernel.iopubMessage.connect((_, { header, content }) => {
      const { name, text } = content as { name?: string; text?: string };
      if (header.msg_type === "stream" && name === "stderr") problems.push(text ?? "");
    });
    manager = managerFor(kernel);
  },
  async run(code: string): Promise<{ text: string; error: string }> {
    const answer = { text: "", error: "" };
    const future = kernel!.requestExecute({ code, store_history: false });
    future.onIOPub = ({ header, content }) => {
      const { name, text, traceback } = content as { name?: string; text?: string; traceback?: string[] };
      if (header.msg_type === "stream" && name === "stdout") answer.text += text;
      if (header.msg_type === "error") answer.error = traceback!.join("\n");
    };
    await future.done;
    return answer;
  },
  show,
  state: () => manager.get_state({ drop_defaults: false }),
  /** Open a notebook that was saved with the state of its widgets, and show one of them; nothing runs. */
  async reopen(state: Json, id: string): Promise<void> {
    manager = managerFor(noKernel(), state);
    const widgets = { "application/vnd.jupyter.widget-state+json": state };
    const notebook = { metadata: { get: () => widgets }, getMetadata: () => widgets };
    await manager.restoreWidgets(notebook, { loadKernel: false, loadNotebook: true });
    await show(id);
  },
  shutDown: () => kernel?.shutdown(),
};
window.nf = api;
