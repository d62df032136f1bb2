-- Does the newer of two statements, already read, contradict the older (row S7)? The gate is p_shared_tokens words in common; then the
-- first signal that fires decides: negation polarity, antonym pair, value conflict, temporal marker. A question to a model, for
-- pairs that pass the gate and fire none of the four, belongs after this function returns no row. Pure; about 20 µs.
-- Called by contradiction and find_contradictions; internal.
create or replace function loci.compare_statements(p_older loci.statement, p_newer loci.statement, p_single_valued boolean, p_shared_tokens integer)
returns table (signal text, confidence double precision, evidence text[])
language plpgsql immutable parallel safe rows 1
as $$
begin
    if (select count(*) from (select unnest(p_older.words) intersect select unnest(p_newer.words)) shared) < p_shared_tokens then
        return;
    end if;
    signal := 'negation'; confidence := 0.85; evidence := loci.negation_signal(p_older, p_newer);
    if evidence is null then
        signal := 'antonym'; confidence := 0.80; evidence := loci.antonym_signal(p_older, p_newer);
    end if;
    if evidence is null then
        signal := 'value_conflict'; confidence := 0.75; evidence := loci.value_signal(p_older, p_newer, p_single_valued);
    end if;
    if evidence is null then
        signal := 'temporal_marker'; confidence := 0.70; evidence := loci.temporal_signal(p_older, p_newer, p_single_valued);
    end if;
    if evidence is not null then  -- in words, not stems
        evidence := array(
            select string_agg(replace(coalesce(p_newer.spoken ->> w.stem, p_older.spoken ->> w.stem, w.stem), '_', ' '), ' ' order by w.place)
            from unnest(evidence) with ordinality e(stems, nth)
            cross join lateral unnest(string_to_array(e.stems, ' ')) with ordinality w(stem, place) group by e.nth order by e.nth);
        return next;
    end if;
end $$;
comment on function loci.compare_statements(loci.statement, loci.statement, boolean, integer) is 'Signal, confidence and evidence of a contradiction between statements that were read; no row: none. Internal.';
