/** The frame of all views: who looks, where, and at what moments. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, signOut, type Schemas } from "./api/client";
import { Loading, Trouble } from "./parts/common";
import { Text } from "./parts/text";
import { TimeBar } from "./parts/timebar";
import { SessionContext, useSession, type Session } from "./session";
import { follow, go, href, useLoad, usePlace, type View } from "./state";
import { Home } from "./views/home";
import { SignIn } from "./views/signin";

const VIEWS: { view: View; name: string; load?: () => Promise<ComponentType> }[] = [
  { view: "", name: "Home" },
  { view: "ask", name: "Ask", load: () => import("./views/ask").then((m) => m.Ask) },
  { view: "memory", name: "Memories", load: () => import("./views/memory").then((m) => m.Memories) },
  { view: "constellation", name: "Constellation", load: () => import("./views/constellation").then((m) => m.Constellation) },
  { view: "changes", name: "Changes", load: () => import("./views/changes").then((m) => m.Changes) },
];
const made = new Map<View, ComponentType>();
const PAGE = 200;

export function App() {
  const { params } = usePlace();
  const [turn, setTurn] = useState(0);
  const me = useLoad(`me ${turn}`, (signal) => call("get", "/api/v1/agents/me", { signal }));
  const ended = () => setTurn((n) => n + 1);
  useEffect(() => {
    addEventListener("loci:unauthorized", ended);
    return () => removeEventListener("loci:unauthorized", ended);
  }, []);
  if (me.error?.status === 401) return <SignIn done={ended} reason={me.error} />;
  if (!me.data) {
    return (
      <main class="alone">
        <Trouble error={me.error} />
        {!me.error && <Loading what="Opening…" />}
      </main>
    );
  }
  const namespace = params.get("ns") ?? me.data.default_namespace ?? me.data.grants?.[0]?.namespace ?? "default";
  return <Frame me={me.data} namespace={namespace} leave={ended} />;
}

function Frame({ me, namespace, leave }: { me: Schemas["Me"]; namespace: string; leave: () => void }) {
  const { view } = usePlace();
  const about = useLoad(`about ${namespace}`, (signal) => call("get", "/api/v1/namespaces/{name}", { path: { name: namespace }, signal }));
  const role = about.data?.role ?? me.grants?.find((grant) => grant.namespace === namespace)?.role ?? "reader";
  const session: Session = { me, namespace, role, about: about.data, reload: about.reload };
  const known = VIEWS.find((each) => each.view === view) ?? VIEWS[0]!;
  useEffect(() => {
    document.title = `${known.name} · ${namespace} · Loci`;
  }, [known, namespace]);
  return (
    <SessionContext.Provider value={session}>
      <div class="frame" onClick={follow}>
        <a class="skip" href="#main" data-out onClick={() => document.getElementById("main")?.focus()}>
          Skip to the content
        </a>
        <header class="side">
          <a class="brand" href={href("", { ns: namespace })}>
            <Mark /> Loci
          </a>
          <Namespaces me={me} namespace={namespace} />
          <nav aria-label="Views">
            {VIEWS.map((each) => (
              <a key={each.view} href={href(each.view)} aria-current={each.view === known.view ? "page" : undefined}>
                {each.name}
              </a>
            ))}
          </nav>
          <Who me={me} role={role} leave={leave} />
        </header>
        <div class="body">
          <TimeBar />
          <main id="main" tabIndex={-1}>
            {about.error && <Trouble error={about.error}>{about.error.status === 404 && <Elsewhere me={me} />}</Trouble>}
            {(about.data || !about.error) && <Shown of={known} />}
          </main>
        </div>
        <Said />
      </div>
    </SessionContext.Provider>
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
  const all = useLoad("namespaces", (signal) => call("get", "/api/v1/namespaces", { query: { limit: PAGE }, signal }));
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

function Who({ me, role, leave }: { me: Schemas["Me"]; role: string; leave: () => void }) {
  return (
    <div class="who">
      <span class="quiet">
        <Text of={me.name} cut={40} /> · {role}
      </span>
      {me.kind === "key" && (
        <button type="button" class="link" onClick={() => signOut().then(leave, leave)}>
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

