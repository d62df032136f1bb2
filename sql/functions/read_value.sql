-- The second half of reading: what kind of value does a statement give? number (with its unit), or a class of words that exclude each
-- other (day, color, state, level), or word. Without a predicate, a noun that has one value and a number at the end are one
-- ("default port 8080"),
-- if there is no word beside them ("listens on port 8080" is another matter). Pure. Called by read_statement; internal.
create or replace function loci.read_value(p_statement loci.statement) returns loci.statement
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_lexicon jsonb := loci.statement_lexicon();
    v_last    integer := cardinality(p_statement.sequence);
begin
    if p_statement.relation is null and v_last > 1 and p_statement.sequence[v_last] ~ '^[0-9]'
       and p_statement.words = p_statement.sequence and exists (
            select from unnest(p_statement.sequence) s where v_lexicon ->> s = 'role') then
        p_statement.relation := 'be';
        p_statement.predicate := 'be';
        p_statement.roles := true;
        p_statement.subject := p_statement.sequence[:v_last - 1];
        p_statement.value := p_statement.sequence[v_last:];
    end if;
    p_statement.kind := case when p_statement.value[1] ~ '^[0-9]' or v_lexicon ->> p_statement.value[1] = 'month' then 'number'
                             when v_lexicon ->> p_statement.value[1] in ('day', 'color', 'state', 'level') then v_lexicon ->> p_statement.value[1]
                             else 'word' end;
    p_statement.unit := case when p_statement.kind = 'number' and p_statement.value[2] !~ '^[0-9]' and v_lexicon ->> p_statement.value[2] is distinct from 'month'
                             then p_statement.value[2] end;
    return p_statement;
end $$;
comment on function loci.read_value(loci.statement) is 'Kind and unit of a statement''s value. Internal.';
