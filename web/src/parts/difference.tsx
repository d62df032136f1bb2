/** What differs between two texts, in words. */
import { diffWordsWithSpace } from "diff";
import { Text } from "./text";

const LONGEST = 20_000;

export function Difference({ before, after }: { before: string; after: string }) {
  if (before === after) return <p class="quiet">The words are the same.</p>;
  const parts = diffWordsWithSpace(before.slice(0, LONGEST), after.slice(0, LONGEST));
  return (
    <p class="difference">
      {parts.map((part, at) =>
        part.added ? (
          <ins key={at}>
            <Text of={part.value} />
          </ins>
        ) : part.removed ? (
          <del key={at}>
            <Text of={part.value} />
          </del>
        ) : (
          <span key={at}>{part.value.trim() ? <Text of={part.value} /> : part.value}</span>
        ),
      )}
      {Math.max(before.length, after.length) > LONGEST && <span class="quiet"> (the first {LONGEST} characters)</span>}
    </p>
  );
}
