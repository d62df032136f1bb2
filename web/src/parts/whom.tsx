/** Whom a memory is about, and who said it. */
import { Text } from "./text";

interface Told {
  about: string | null;
  source: string | null;
}
const CUT = 40;

/** "· about Nadia · said by Ann": what is known of it, each with a point before it. */
export function Whom({ of }: { of: Told }) {
  return (
    <>
      {of.about !== null && (
        <>
          {" "}
          · about <Text of={of.about} cut={CUT} />
        </>
      )}
      {of.source !== null && (
        <>
          {" "}
          · said by <Text of={of.source} cut={CUT} />
        </>
      )}
    </>
  );
}
