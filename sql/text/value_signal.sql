-- Do two statements give different values to something that has one? Each value has something that the other has not
-- (Paris, France is no other value than Paris). single_valued true: whatever differs does. false: nothing does. null:
-- the words decide: same subject and predicate, same kind and unit of value, same years, and the predicate is one with
-- a single object (lives in), a count of one thing (20 mg of one medicine are no other dose of another), or a copula
-- whose subject has one value at a time (its deadline) or whose values exclude each other; verbs are of one tense.
-- Facts that add up (uses, likes, speaks, is a) are no conflict. Returns the two values, or null. Pure.
create or replace function loci_internal.value_signal(p_older loci_internal.statement, p_newer loci_internal.statement,
                                                      p_single_valued boolean) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select array[array_to_string(d.older, ' '), array_to_string(d.newer, ' ')]
    from (select case when p_single_valued then p_older.sequence else p_older.value end as older,
                 case when p_single_valued then p_newer.sequence else p_newer.value end as newer) d
    where p_single_valued is not false
      and p_older.negators is null and p_newer.negators is null and not p_newer.additive and not p_older.additive
      and p_older.past is null and p_newer.past is null
      and not loci_internal.tenses_differ(p_older, p_newer) and p_older.moods is not distinct from p_newer.moods
      and not d.older <@ d.newer and not d.newer <@ d.older
      and (p_single_valued or (
          p_older.predicate = p_newer.predicate
          and (coalesce(p_older.subject, '{}') @> coalesce(p_newer.subject, '{}') and
               coalesce(p_older.subject, '{}') <@ coalesce(p_newer.subject, '{}')
               or p_older.relation = 'fn'
               and least(cardinality(coalesce(p_older.subject, '{}')), cardinality(coalesce(p_newer.subject, '{}'))) = 0
                  and greatest(cardinality(p_older.subject), cardinality(p_newer.subject)) = 1)
          and p_older.kind = p_newer.kind and p_older.unit is not distinct from p_newer.unit
          and p_older.years is not distinct from p_newer.years
          and (p_older.kind in ('word', 'number') and p_older.relation <> 'count' or
               coalesce(p_older.value[2:] <@ p_newer.value[2:] or p_newer.value[2:] <@ p_older.value[2:], true))
          and case p_older.relation when 'fn' then true when 'count' then p_older.kind = 'number'
                                    when 'be' then p_older.subject is not null
                                    and (p_older.roles or p_older.kind <> 'word') else false end)));
end $$;
comment on function loci_internal.value_signal(loci_internal.statement, loci_internal.statement, boolean) is
    'The two values by which statements conflict, or null.';

-- Is the verb of one of two statements in the past tense, and that of the other is not (worked at, works at)? Pure.
create or replace function loci_internal.tenses_differ(p_older loci_internal.statement,
                                                       p_newer loci_internal.statement) returns boolean
language sql immutable parallel safe
as $$
    select p_older.relation in ('fn', 'count') and p_newer.relation in ('fn', 'count')
       and coalesce(p_older.spoken ->> p_older.predicate ~ v.past, false)
           <> coalesce(p_newer.spoken ->> p_newer.predicate ~ v.past, false)
    from (values ('^(\w+ed|had|took|held|led|ran|stood|left|began)$')) v(past)
$$;
comment on function loci_internal.tenses_differ(loci_internal.statement, loci_internal.statement) is
    'Whether the verb of one of two statements is in the past tense and that of the other is not.';
