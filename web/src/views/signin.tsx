/** Where keys are needed: the key is exchanged for a session, and is kept nowhere. */
import { useState } from "preact/hooks";
import { Fault, signIn, signOut } from "../api/client";
import { sentence } from "../parts/common";

export function SignIn({ done, reason }: { done: () => void; reason: Fault }) {
  const [error, fail] = useState<Fault | null>(null);
  const [busy, set] = useState(false);
  const ended = !/needed/.test(reason.message);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const field = form.elements.namedItem("key") as HTMLInputElement;
    set(true);
    try {
      if (ended) await signOut();
      await signIn(field.value.trim());
      field.value = "";
      done();
      dispatchEvent(new Event("loci:signed-in"));
    } catch (caught) {
      fail(caught instanceof Fault ? caught : new Fault(-1, String(caught)));
      field.select();
    } finally {
      set(false);
    }
  };
  return (
    <main class="alone" id="main">
      <form class="card signin" onSubmit={submit}>
        <h1>Loci</h1>
        <p>{ended ? "The session has ended, or its key has. " : ""}This service asks for an API key.</p>
        <label>
          API key
          <input name="key" type="password" autocomplete="off" spellcheck={false} required autofocus />
        </label>
        {error && (
          <p class="trouble" role="alert">
            {sentence(error.message)}
          </p>
        )}
        <button class="primary" aria-busy={busy}>
          Open
        </button>
        <p class="quiet">
          The key is exchanged for a session of this browser that ends with it. The page keeps the key nowhere. <code>loci key create</code> makes one.
        </p>
      </form>
    </main>
  );
}
