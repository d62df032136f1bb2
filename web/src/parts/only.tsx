/** A choice that narrows a list, kept in the address. */
import { changed, go, type Params } from "../state";

interface Choice<T extends string> {
  /** What is chosen. */
  of: string;
  /** Its name in the address. */
  param: string;
  among: readonly T[];
  chosen: T | undefined;
  /** What stands for all of them. */
  all?: string;
  /** What else the address loses with another choice. */
  besides?: Params;
}

export function Only<T extends string>({ of, param, among, chosen, all = "any", besides }: Choice<T>) {
  return (
    <label class="size">
      {of}
      <select value={chosen ?? ""} onChange={(event) => go(changed({ [param]: event.currentTarget.value || null, ...besides }))}>
        <option value="">{all}</option>
        {among.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </label>
  );
}
