/** The frame of all views: who looks, where, and at what moments. */
import type { ComponentType } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { forgetAsked, quietly, signOut, type Schemas } from "./api/client";
import { Late, Loading, Trouble } from "./parts/common";
import { Text } from "./parts/text";
import { TimeBar } from "./parts/timebar";
import { SessionContext, useSession, type Session } from "./session";
import type { Command } from "./parts/commands";
import { follow, go, href, RETRY, say, unread, useLoad, usePlace, type View } from "./state";
import { Home } from "./views/home";
import { SignIn } from "./views/signin";

const VIEWS: { view: View; name: string; load?: () => Promise<ComponentType> }[] = [
  { view: "", name: "Home" },
  { view: "ask", name: "Ask", load: () => import("./views/ask").then((m) => m.Ask) },
  { view: "memory", name: "Memories", load: () => import("./views/memory").then((m) => m.Memories) },
  { view: "constellation", name: "Constellation", load: () => import("./views/constellation").then((m) => m.Constellation) },
  { view: "map", name: "Map", load: () => import("./views/map").then((m) => m.MemoryMap) },
  { view: "tree", name: "Tree", load: () => import("./views/tree").then((m) => m.Tree) },
  { view: "desk", name: "Desk", load: () => import("./views/desk").then((m) => m.Desk) },
  { view: "changes", name: "Changes", load: () => import("./views/changes").then((m) => m.Changes) },
];
const made = new Map<View, ComponentType>();
const PAGE = 200;

export function App() {
  const { params } = usePlace();
  const [turn, setTurn] = useState(0);
  const last = useRef<Schemas["Me"] | undefined>(undefined);
  const me = useLoad(`me ${turn}`, (signal) => quietly("get", "/api/v1/agents/me", { signal }));
  const ended = () => setTurn((n) => n + 1);
  useEffect(() => {
    addEventListener("loci:unauthorized", ended);
    return () => removeEventListener("loci:unauthorized", ended);
  }, []);
  useEffect(() => {
    // what was asked before somebody signed in may be refused after it; not at once, should the key be good for this question alone
    const timer = me.data && !me.error && setTimeout(() => dispatchEvent(new Event("loci:signed-in")), RETRY);
    return () => clearTimeout(timer || undefined);
  }, [me.data, me.error]);
  last.current = me.data ?? last.current;
  const known = last.current;
  if (me.error?.status === 401 && !known) return <SignIn done={ended} reason={me.error} />;
  if (!known) {
    return (
      <main class="alone">
        <Trouble error={me.error} />
        {!me.error && <Loading what="Opening…" />}
        <Late />
      </main>
    );
  }
  const namespace = params.get("ns") ?? known.default_namespace ?? known.grants?.[0]?.namespace ?? "default";
  return (
    <>
      {/* what was there stays, also while a key is asked for */}
      <Frame key={known.agent_id} me={known} namespace={namespace} asleep={me.error?.status === 401} />
      {me.error?.status === 401 && (
        <div class="veil">
          <SignIn done={ended} reason={me.error} />
        </div>
      )}
    </>
  );
}

function Frame({ me, namespace, asleep }: { me: Schemas["Me"]; namespace: string; asleep: boolean }) {
  const { view } = usePlace();
  const about = useLoad(`about ${namespace}`, (signal) => quietly("get", "/api/v1/namespaces/{name}", { path: { name: namespace }, signal }));
  const role = about.data?.role ?? me.grants?.find((grant) => grant.namespace === namespace)?.role ?? "reader";
  const session: Session = { me, namespace, role, about: about.data, reload: about.reload };
  const lost = about.error && !about.error.away && about.error.status !== 401; // else the view stays, and what was typed in it
  useEffect(() => {
    addEventListener("loci:missing", about.reload);
    return () => removeEventListener("loci:missing", about.reload);
  }, []);
  const known = VIEWS.find((each) => each.view === view) ?? VIEWS[0]!;
  const views = useRef<HTMLElement>(null);
  useEffect(() => {
    const [row, link] = [views.current!, views.current!.querySelector<HTMLElement>("[aria-current]")!];
    row.scrollLeft = link.offsetLeft - (row.clientWidth - link.offsetWidth) / 2; // narrow, the views are a row that scrolls
  }, [known]);
  useEffect(forgetAsked, [known, namespace]);
  useEffect(() => {
    document.title = `${known.name} · ${namespace} · Loci`;
  }, [known, namespace]);
  return (
    <SessionContext.Provider value={session}>
      <div class="frame" onClick={follow} inert={asleep}>
        <a class="skip" href="#main" data-out onClick={() => document.getElementById("main")?.focus()}>
          Skip to the content
        </a>
        <header class="side">
          <a class="brand" href={href("", { ns: namespace })}>
            <Mark /> Loci
          </a>
          <Namespaces me={me} namespace={namespace} />
          <nav ref={views} aria-label="Views">
            {VIEWS.map((each) => (
              <a key={each.view} href={href(each.view)} aria-current={each.view === known.view ? "page" : undefined}>
                {each.name}
              </a>
            ))}
          </nav>
          <Who me={me} role={role} />
        </header>
        <div class="body">
          <TimeBar />
          <Late />
          <main id="main" tabIndex={-1}>
            {about.error && <Trouble error={about.error}>{about.error.status === 404 && <Elsewhere me={me} />}</Trouble>}
            <Unread />
            {!lost && <Shown of={known} />}
          </main>
          <Tools name={known.name} />
        </div>
        <Said />
      </div>
    </SessionContext.Provider>
  );
}

function Unread() {
  return (
    <>
      {unread(usePlace()).map(([name, text]) => (
        <div class="trouble" role="alert" key={name}>
          <strong>{name} is no moment:</strong> “<Text of={text} cut={80} />”. What is shown is of now. A moment is written as 2026-03-01T12:00:00Z.
        </div>
      ))}
    </>
  );
}

const COMMANDS: Command[] = VIEWS.map((each) => ({ name: each.name, to: each.view }));
type Tool = "palette" | "away";

/** What works in every view: a palette of commands, and taking away what is shown. Fetched when it is first wanted. */
function Tools({ name }: { name: string }) {
  const [open, set] = useState<Tool | null>(null);
  const [tools, fetched] = useState<{ palette: typeof import("./parts/commands"); away: typeof import("./parts/takeaway") } | null>(null);
  const want = (tool: Tool) => {
    set(tool);
    if (tools) return;
    Promise.all([import("./parts/commands"), import("./parts/takeaway")]).then(
      ([palette, away]) => fetched({ palette, away }),
      () => (set(null), say("This part of the page could not be fetched.", true)),
    );
  };
  const wanted = useRef(want);
  wanted.current = want;
  useLayoutEffect(() => {
    const hear = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.metaKey || event.ctrlKey) || event.altKey || event.shiftKey) return;
      event.preventDefault();
      wanted.current("palette");
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
  const close = () => set(null);
  return (
    <footer class="tools">
      <button type="button" class="small" onClick={() => want("palette")} aria-keyshortcuts="Control+K Meta+K">
        Go to… <kbd>Ctrl K</kbd>
      </button>
      <button type="button" class="small" onClick={() => want("away")}>
        Take away…
      </button>
      {tools && open === "palette" && <tools.palette.Palette commands={COMMANDS} close={close} />}
      {tools && open === "away" && <tools.away.TakeAway name={name} close={close} />}
    </footer>
  );
}

/** A view, fetched when it is first looked at. */
function Shown({ of }: { of: (typeof VIEWS)[number] }) {
  const [, again] = useState(0);
  const [failed, fail] = useState(false);
  useEffect(() => {
    if (of.load && !made.has(of.view)) {
      of.load().then(
        (view) => {
          made.set(of.view, view);
          again((n) => n + 1);
        },
        () => fail(true),
      );
    }
  }, [of]);
  const { namespace } = useSession();
  const View = of.load ? made.get(of.view) : Home;
  if (failed) return <p class="trouble">This part of the page could not be fetched. Load the page again when the service answers.</p>;
  return View ? <View key={namespace} /> : <Loading what="Opening…" />;
}

function Namespaces({ me, namespace }: { me: Schemas["Me"]; namespace: string }) {
  const all = useLoad("namespaces", (signal) => quietly("get", "/api/v1/namespaces", { query: { limit: PAGE }, signal }));
  const names = new Set([namespace, ...(all.data?.items ?? []).map((each) => each.name), ...(me.grants ?? []).map((each) => each.namespace)]);
  return (
    <label class="namespace">
      <span>Namespace</span>
      <select value={namespace} onChange={(event) => go(href("", { ns: event.currentTarget.value, as_of: null, known_at: null }))}>
        {[...names].sort().map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Elsewhere({ me }: { me: Schemas["Me"] }) {
  const first = me.default_namespace ?? me.grants?.[0]?.namespace ?? "default";
  return <a href={href("", { ns: first, as_of: null, known_at: null })}>Go to {first}</a>;
}

function Who({ me, role }: { me: Schemas["Me"]; role: string }) {
  return (
    <div class="who">
      <span class="quiet">
        <Text of={me.name} cut={40} /> · {role}
      </span>
      {me.kind === "key" && (
        <button type="button" class="link" onClick={() => signOut().finally(() => location.reload())}>
          Sign out
        </button>
      )}
      <a class="quiet" href="./docs" data-out>
        API
      </a>
    </div>
  );
}

/** What was done, and what went wrong: read out, and shown for a while. */
function Said() {
  const [said, set] = useState<{ text: string; failed: boolean } | null>(null);
  useEffect(() => {
    let timer = 0;
    const hear = (event: Event) => {
      set((event as CustomEvent).detail);
      clearTimeout(timer);
      timer = window.setTimeout(() => set(null), 7000);
    };
    addEventListener("loci:say", hear);
    return () => removeEventListener("loci:say", hear);
  }, []);
  return (
    <div class={`said${said ? " shown" : ""}${said?.failed ? " failed" : ""}`} role="status" aria-live="polite">
      {said && <Text of={said.text} />}
    </div>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M4 15.5 10 4l6 11.5" />
      <circle cx="10" cy="4" r="2.2" />
      <circle cx="4" cy="15.5" r="2.2" />
      <circle cx="16" cy="15.5" r="2.2" />
    </svg>
  );
}

