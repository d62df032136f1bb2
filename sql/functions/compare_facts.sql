-- How near are a fact and one that is known, and does the later of them contradict the other? p_older is the one that is true first.
--   overlap     shared words, of all words of both
--   same        the same words in the same order and tense
--   alike       as many words as that but for some that change nothing (is, does, our, really), in the same order
--   signal      one of the four of compare_statements, or a change that they do not know (change_signal)
--               if both speak of the same one, by name or as one speaker
--   sure        a version may be made of it: the older says one thing only, neither asks, and two values are of a kind (is_same_kind)
-- A wrong version is worse than two memories, so whatever is not sure stays beside. Pure; about 40 µs. Called by fact_candidates; internal.
create or replace function loci.compare_facts(p_older loci.fact_reading, p_newer loci.fact_reading, p_same_source boolean, p_shared_tokens integer)
returns table (overlap double precision, same boolean, alike boolean, signal text, confidence double precision, evidence text[], sure boolean)
language plpgsql immutable parallel safe rows 1 set search_path = ''
as $$
declare
    v_idle   constant text[] := '{is,are,am,be,been,do,doe,has,have,that,this,our,your,it,there,realli,veri,still,alreadi,actual,simpli,quit,just,certain,definit,truli,pleas}';
    v_older  text[] := array(select w from unnest(p_older.gist) with ordinality u(w, n) where w <> all (v_idle) order by n);
    v_newer  text[] := array(select w from unnest(p_newer.gist) with ordinality u(w, n) where w <> all (v_idle) order by n);
    v_shared integer;
    v_past   boolean; -- one tells it as past, the other does not
begin
    select count(*) into v_shared from (select unnest(p_older.gist) intersect select unnest(p_newer.gist)) s;
    overlap := v_shared / greatest((select count(*) from (select unnest(p_older.gist) union select unnest(p_newer.gist)) s), 1)::double precision;
    v_past := p_older.past <> p_newer.past;
    same := p_older.gist is not distinct from p_newer.gist and p_older.marks = p_newer.marks and not v_past
        and (p_older.speaker not in ('i', 'we', 'other') or p_same_source);
    alike := v_older = v_newer and v_older <> '{}' and p_older.marks = p_newer.marks and not v_past
        and (p_older.speaker in ('named', 'we') and p_newer.speaker in ('named', 'we') or p_older.speaker = p_newer.speaker and p_older.speaker <> 'other' and p_same_source)
        and (p_older.said).moods is not distinct from (p_newer.said).moods
        and ((p_older.said).negators is null) = ((p_newer.said).negators is null);
    if not same and not (p_older.said is null or p_newer.said is null) then  -- a row is null if all its fields are
        select c.signal, c.confidence, c.evidence into signal, confidence, evidence
        from loci.compare_statements(p_older.said, p_newer.said, null, p_shared_tokens) c;
        if signal is null then
            evidence := array(select coalesce((p_newer.said).spoken ->> w, w)
                              from unnest(loci.change_signal(p_older.said, p_newer.said, p_newer.names)) with ordinality u(w, n) order by n);
            if evidence <> '{}' then
                signal := 'change';
                confidence := 0.75;
            end if;
        end if;
        if p_older.speaker <> p_newer.speaker or p_newer.speaker = 'other' or p_newer.speaker <> 'named' and not p_same_source
           or not coalesce(case when (p_newer.said).relation = 'change'
                     then coalesce((p_older.said).subject, (p_older.said).sequence[:1]) @> coalesce((p_newer.said).subject, '{}')
                          and (p_newer.speaker <> 'named' or (p_older.said).sequence[1] = (p_newer.said).sequence[1])
                     else (p_older.said).sequence[1] = (p_newer.said).sequence[1] end, false)
           or signal = 'value_conflict' and v_past  -- lived in Paris does not end lives in Berlin
           or signal = 'value_conflict' and not (coalesce((p_older.said).subject, '{}') <@ coalesce((p_newer.said).subject, '{}')
                                                 and coalesce((p_older.said).subject, '{}') @> coalesce((p_newer.said).subject, '{}')) then
            signal := null;  -- they speak of two things or times, or nobody knows of what
            confidence := null;
            evidence := null;
        end if;
        sure := signal is not null and not p_older.compound and p_older.marks !~ '[?\uFF1F]' and p_newer.marks !~ '[?\uFF1F]'
            and (signal <> 'value_conflict' or loci.is_same_kind(p_older, p_newer));
    end if;
    sure := coalesce(sure, false);
    return next;
end $$;
comment on function loci.compare_facts(loci.fact_reading, loci.fact_reading, boolean, integer) is 'Nearness of two facts, and whether the newer contradicts the older. Internal.';
