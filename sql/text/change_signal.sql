-- Does the newer of two statements tell a change that compare_statements leaves open? Two ways: someone who lives or is
-- based somewhere moved or relocated to what has a name (p_names: capitalised words), which is no team, and one thing
-- is done instead of another ("drinks tea instead of coffee" ends "drinks coffee"). Returns the words that tell, or
-- null. Pure.
create or replace function loci_internal.change_signal(p_older loci_internal.statement,
                                                       p_newer loci_internal.statement, p_names text[]) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_at   integer := array_position(p_newer.sequence, 'instead');
    v_tail text[] := p_newer.sequence[v_at + 1:];
    v_kept integer := cardinality(p_older.sequence) - cardinality(v_tail);
begin
    return case
        when p_older.negators is not null or p_newer.negators is not null or p_older.past is not null
        or p_newer.past is not null
             or p_older.moods is not null or p_newer.moods is not null or p_newer.additive then null
        when p_newer.relation = 'change' and p_newer.predicate ~ '^(move|reloc)'
             and p_older.relation = 'fn'
             and p_older.predicate in ('live', 'resid', 'base', 'locat', 'situat', 'headquart')
             and coalesce(p_older.subject, '{}') @> coalesce(p_newer.subject, '{}') and
                 coalesce(p_older.subject, '{}') <@ coalesce(p_newer.subject, '{}')
             and cardinality(p_newer.value) <= 3 and p_newer.value[1] = any (p_names)
             and not p_newer.value && '{team,depart,group,engin,sale,market,design,financ,support}'
             and array_to_string(p_newer.value, ' ') !~ '\d'
             and not p_older.value <@ p_newer.value
            then array[p_newer.predicate] || p_newer.value
        when v_at > 2 and cardinality(v_tail) > 0 and v_kept >= 2
             and p_older.sequence[v_kept + 1:] = v_tail and p_older.sequence[:v_kept] = p_newer.sequence[:v_kept]
            then array['instead'] || v_tail
    end;
end $$;
comment on function loci_internal.change_signal(loci_internal.statement, loci_internal.statement, text[]) is
    'Words by which a statement tells that what an older one says was changed, or null.';
