-- Does the newer of two statements tell a change that compare_statements leaves open? Three ways: someone who lives or
-- is based somewhere, or moved there, moved or relocated to what has a name (p_names: capitalised words), which is no
-- team, or lives elsewhere after a move; one thing is done instead of another ("drinks tea instead of coffee" ends
-- "drinks coffee"); and it corrects the older in so many words (correct_signal). Returns the words that tell, or null.
-- Pure.
create or replace function loci_internal.change_signal(p_older loci_internal.statement,
                                                       p_newer loci_internal.statement, p_names text[],
                                                       p_older_names text[]) returns text[]
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
        when loci_internal.tells_place(p_newer, p_names) and loci_internal.tells_place(p_older, p_older_names)
             and (p_newer.relation = 'change'  -- Acme moved to Slack and is based in Paris
                  or p_older.relation = 'change' and p_newer.predicate in ('live', 'resid'))
             and coalesce(p_older.subject, '{}') @> coalesce(p_newer.subject, '{}') and
                 coalesce(p_older.subject, '{}') <@ coalesce(p_newer.subject, '{}')
             and not p_older.value <@ p_newer.value
            then array[p_newer.predicate] || p_newer.value
        when v_at > 2 and cardinality(v_tail) > 0 and v_kept >= 2
             and p_older.sequence[v_kept + 1:] = v_tail and p_older.sequence[:v_kept] = p_newer.sequence[:v_kept]
            then array['instead'] || v_tail
        else loci_internal.correct_signal(p_older, p_newer, p_names, p_older_names)
    end;
end $$;
comment on function loci_internal.change_signal(loci_internal.statement, loci_internal.statement, text[], text[]) is
    'Words by which a statement tells that what an older one says was changed, or null.';

-- Does a statement say where somebody or something lives or moved to? A place has a name. Pure.
create or replace function loci_internal.tells_place(p_said loci_internal.statement, p_names text[]) returns boolean
language sql immutable parallel safe
as $$
    select case when p_said.relation = 'fn'
                then p_said.predicate in ('live', 'resid', 'base', 'locat', 'situat', 'headquart')
                when p_said.relation = 'change' and p_said.predicate ~ '^(move|reloc)' then
                    cardinality(p_said.value) <= 3 and p_said.value[1] = any (p_names)
                    and not p_said.value && '{team,depart,group,engin,sale,market,design,financ,support}'
                    and array_to_string(p_said.value, ' ') !~ '\d' end
$$;
comment on function loci_internal.tells_place(loci_internal.statement, text[]) is
    'Whether a statement says where its subject lives or moved to.';
