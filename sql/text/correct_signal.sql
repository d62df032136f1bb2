-- Does the newer of two statements correct the older in so many words ("no, I drive a Saab")? It opens with a
-- correction, and says the same as far as its verb and after what it corrects, which is one word in one of both and at
-- most three in the other; both have a name there, or neither. If it names what is wrong (a Saab, not a Volvo), that is
-- what the older says; else its verb is none whose objects add up (likes, has). Where the opening may be an excuse
-- (sorry, I am late), what is said to be so has a name, a number, or a noun with one value. Returns the words that are
-- right, or null. Pure.
create or replace function loci_internal.correct_signal(p_older loci_internal.statement,
                                                        p_newer loci_internal.statement, p_names text[],
                                                        p_older_names text[]) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_lexicon constant jsonb := loci_internal.statement_lexicon();
    v_old     text[];
    v_new     text[];
    v_same    integer := 0;
begin
    if coalesce(p_newer.words[1], '') not in ('to_correct', 'may_correct')
       or p_newer.cumulative and p_newer.replaced is null then
        return null;
    end if;
    v_old := array(select w from unnest(p_older.words) with ordinality u(w, n)
                   where coalesce(v_lexicon ->> w, '') not in ('soft', 'now', 'fix') order by n);
    v_new := array(select w from unnest(p_newer.words) with ordinality u(w, n)
                   where coalesce(v_lexicon ->> w, '') not in ('soft', 'now', 'fix') order by n);
    while v_old[v_same + 1] = v_new[v_same + 1] loop
        v_same := v_same + 1;
    end loop;
    if not exists (select from unnest(v_old[:v_same]) with ordinality u(w, n)  -- the verb
                   where n > case when v_old[1] in ('my', 'our') then 2 else 1 end and w <> all (p_older_names)
                     and v_lexicon ->> w is distinct from 'stop') then
        return null;
    end if;
    v_old := v_old[v_same + 1:];
    v_new := v_new[v_same + 1:];
    while v_old[cardinality(v_old)] = v_new[cardinality(v_new)] loop
        v_old := v_old[:cardinality(v_old) - 1];
        v_new := v_new[:cardinality(v_new) - 1];
    end loop;
    return case when least(cardinality(v_old), cardinality(v_new)) = 1
                 and greatest(cardinality(v_old), cardinality(v_new)) <= 3
                 and 'stop' <> all (array[coalesce(v_lexicon ->> v_old[1], ''), coalesce(v_lexicon ->> v_new[1], '')])
                 and v_old && p_older_names = (v_new && p_names)
                 and case when p_newer.replaced is not null then v_old && p_newer.replaced
                          else p_newer.words[1] = 'to_correct' or p_newer.relation is distinct from 'be'
                               or p_newer.roles or v_new && p_names or v_new[1] ~ '^[0-9]' end
                 and v_old[1] ~ '^[0-9]' = (v_new[1] ~ '^[0-9]')
        then v_new end;
end $$;
comment on function loci_internal.correct_signal(loci_internal.statement, loci_internal.statement, text[], text[]) is
    'Statement that corrects an older one, without its words of correction; null: none.';
