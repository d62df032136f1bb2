/** Small things that all views use. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Fault } from "../api/client";
import { missing, say, useLate, waited } from "../state";

export function Trouble({ error, children }: { error: Fault | undefined; children?: ComponentChildren }) {
  if (!error) return null;
  const gone = error.status === 404;
  return (
    <div class="trouble" role="alert">
      <strong>{error.away ? "The service does not answer." : gone ? "Not there." : "That did not work."}</strong>{" "}
      {error.away ? "What is shown is what was known last; the page goes on as soon as it answers." : sentence(error.message)}
      {error.hint && !error.away && <> {sentence(error.hint)}</>} {children}
    </div>
  );
}

/** A field that shows what the address asks. It is set before anybody can type: later that would take away what was typed. */
export function useField(asked: string) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (field.current) field.current.value = asked;
  }, [asked]);
  return field;
}

/** A field of an address's parameter: shows it, keeps what is typed while the page is drawn anew, and says its text when it is changed. */
export function Parameter({ asked, change, ...field }: { asked: string; change: (text: string | null) => void } & JSX.IntrinsicElements["input"]) {
  return <input {...field} ref={useField(asked)} defaultValue={asked} onChange={(event) => change(event.currentTarget.value.trim() || null)} />;
}

export const sentence = (text: string): string => {
  const trimmed = text.trim();
  return trimmed.charAt(0).toUpperCase() + trimmed.slice(1) + (/[.!?:]$/.test(trimmed) ? "" : ".");
};

export function Loading({ what }: { what: string }) {
  return (
    <p class="quiet loading" role="status">
      {what}
    </p>
  );
}

/** Says that the service takes long, for as long as it does. */
export function Late() {
  return (
    <div class="late" role="status">
      {useLate() && "The service takes its time. What is shown is what was known last; the page waits, and goes on when the answer comes."}
    </div>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

/** A dialog of the browser: it keeps the focus, and Escape closes it. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const left = useRef(false); // what a dialog says after it is gone would close the next
  const end = () => left.current || close();
  useEffect(() => {
    const shown = dialog.current!;
    if (!shown.open) shown.showModal();
    return () => {
      left.current = true;
      shown.close();
    };
  }, []);
  return (
    <dialog ref={dialog} onCancel={end} onClose={end} aria-labelledby="dialog-title">
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

/** A button that does something at the service: once at a time, and what went wrong is said. */
export function Act({ run, done, children, ...rest }: Omit<JSX.IntrinsicElements["button"], "onClick"> & { run: () => Promise<unknown>; done?: string; children?: ComponentChildren }) {
  const [busy, set] = useState(false);
  const act = async () => {
    if (busy) return;
    set(true);
    try {
      await waited(run());
      if (done) say(done);
    } catch (error) {
      if (error instanceof Fault) missing(error);
      say(sentence(error instanceof Error ? error.message : String(error)), true);
    } finally {
      set(false);
    }
  };
  return (
    <button type="button" {...rest} aria-busy={busy} onClick={act}>
      {children}
    </button>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => set(true),
      () => say("The browser does not let the page copy; select the lines by hand.", true),
    );
    setTimeout(() => set(false), 1500);
  };
  return (
    <button type="button" class="small" onClick={copy} aria-label={label}>
      {done ? "Copied" : "Copy"}
    </button>
  );
}

/** A part of a page under a heading. */
export function Section({ title, note, children, ...rest }: JSX.IntrinsicElements["section"] & { title: string; note?: ComponentChildren; children?: ComponentChildren }) {
  return (
    <section {...rest} aria-label={title}>
      <header class="section-head">
        <h2>{title}</h2>
        {note && <span class="quiet">{note}</span>}
      </header>
      {children}
    </section>
  );
}

/** Colours that people who see few of them tell apart (Okabe and Ito), in an order that does not change. */
export const HUES = 8;
export function hue(name: string, names: string[]): number {
  const at = names.indexOf(name);
  return at < 0 ? HUES - 1 : Math.min(at, HUES - 1);
}
