-- Comparison of facts: names, words and values in common.

-- How near are a fact and one that is known, and does the later of them contradict the other? p_older is the one that
-- is true first.
--   overlap     shared words, of all words of both
--   same        the same words in the same order, tense and voice (voices_differ), with the same names (names_differ)
--   alike       the same words but for some that change nothing (words_that_matter), in the same order but for what
--               opens one and closes the other (on Fridays), and for the two sides of `is` (Ann is my boss)
--   signal      one of the four of compare_statements, or a change that they do not know (change_signal)
--   if both speak of the same one, by name or as one speaker
--   sure        a version may be made of it: the older says one thing only, neither asks, and two values are of a
--            kind (values_are_same_kind)
-- A wrong version is worse than two memories, so whatever is not sure stays beside. Pure; about 40 µs.
create or replace function loci_internal.compare_facts(p_older loci_api.fact_reading, p_newer loci_api.fact_reading,
                                                       p_same_source boolean, p_shared_tokens integer)
returns table (overlap double precision, same boolean, alike boolean, signal text, confidence double precision,
               evidence text[], sure boolean)
language plpgsql immutable parallel safe rows 1 set search_path = ''
as $$
declare
    v_shared integer;
    v_past   constant boolean := p_older.past <> p_newer.past; -- one tells it as past, the other does not
    v_apart  constant boolean := coalesce(loci_internal.voices_differ(p_older.said, p_newer.said), false)
                                 or loci_internal.names_differ(p_older, p_newer);
begin
    select count(*) into v_shared from (select unnest(p_older.gist) intersect select unnest(p_newer.gist)) s;
    overlap := v_shared / greatest(
        (select count(*) from (select unnest(p_older.gist) union select unnest(p_newer.gist)) s), 1)::double precision;
    same := not v_apart and p_older.gist is not distinct from p_newer.gist and p_older.marks = p_newer.marks
        and not v_past and (p_older.speaker not in ('i', 'we', 'other') or p_same_source);
    alike := not v_apart and not v_past and loci_internal.facts_are_alike(p_older, p_newer, p_same_source);
    if not same and not v_apart  -- a row is null if all its fields are
       and not (p_older.said is null or p_newer.said is null) then
        select c.signal, c.confidence, c.evidence into signal, confidence, evidence
        from loci_internal.detect_contradiction(p_older, p_newer, p_same_source, p_shared_tokens) c;
        sure := signal is not null and not p_older.compound and p_older.marks !~ '[?\uFF1F]'
            and p_newer.marks !~ '[?\uFF1F]'
            and (signal <> 'value_conflict' or loci_internal.values_are_same_kind(p_older, p_newer));
    end if;
    sure := coalesce(sure, false);
    return next;
end $$;
comment on function loci_internal.compare_facts(loci_api.fact_reading, loci_api.fact_reading, boolean, integer) is
    'Nearness of two facts, and whether the newer contradicts the older.';

-- Do two facts say the same, in the same words but for some that change nothing? Neither of them is told as past alone.
-- See compare_facts. Pure.
create or replace function loci_internal.facts_are_alike(p_older loci_api.fact_reading, p_newer loci_api.fact_reading,
                                                         p_same_source boolean) returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_older  constant text[] := loci_internal.words_that_matter(p_older);
    v_newer  constant text[] := loci_internal.words_that_matter(p_newer);
    v_outset constant text[] := '{in,on,at,for,with,to,from,by,dure,befor,after,today,tomorrow,yesterday,tonight,'
                                'usual,often,sometim,alway,everi,each,next,last}';
begin
    return v_older <> '{}'
        and (v_older = v_newer or cardinality(v_older) = cardinality(v_newer)  -- on Fridays the office is closed
             and array[v_older[1], v_newer[1]] && v_outset
             and loci_internal.words_keep_order(v_older, v_newer)
             or (p_older.said).relation = 'be' and (p_newer.said).relation = 'be'
             and p_older.names && p_newer.names and loci_internal.is_turned(v_older, v_newer))
        and p_older.marks = p_newer.marks
        and (p_older.speaker in ('named', 'we') and p_newer.speaker in ('named', 'we')
             or p_same_source and case when p_older.speaker = p_newer.speaker then p_older.speaker <> 'other'
                                       else '{i,my}' && v_older and '{i,my}' && v_newer end)
        and (p_older.said).moods is not distinct from (p_newer.said).moods
        and ((p_older.said).negators is null) = ((p_newer.said).negators is null);
end $$;
comment on function loci_internal.facts_are_alike(loci_api.fact_reading, loci_api.fact_reading, boolean) is
    'Whether two facts say the same in words that differ in nothing that matters.';

-- By which signal does the newer of two facts contradict the older? One of compare_statements, or else a change that
-- these do not know (change_signal); none where they speak of two things. Pure.
create or replace function loci_internal.detect_contradiction(
    p_older loci_api.fact_reading, p_newer loci_api.fact_reading, p_same_source boolean, p_shared_tokens integer,
    out signal text, out confidence double precision, out evidence text[])
language plpgsql immutable parallel safe
as $$
begin
    select c.signal, c.confidence, c.evidence into signal, confidence, evidence
    from loci_internal.compare_statements(p_older.said, p_newer.said, null, p_shared_tokens) c;
    if signal is null then
        evidence := array(
            select coalesce((p_newer.said).spoken ->> w, w)
            from unnest(loci_internal.change_signal(p_older.said, p_newer.said, p_newer.names, p_older.names))
                 with ordinality u(w, n) order by n);
        if evidence <> '{}' then
            signal := 'change';
            confidence := 0.75;
        end if;
    end if;
    if loci_internal.speak_of_two_things(p_older, p_newer, p_same_source, signal) then
        signal := null;
        confidence := null;
        evidence := null;
    end if;
end $$;
comment on function loci_internal.detect_contradiction(loci_api.fact_reading, loci_api.fact_reading, boolean,
                                                       integer) is
    'Signal by which the newer of two facts contradicts the older, with confidence and evidence.';

-- Are two facts with a signal about different things or times, or about unknown ones? Pure.
create or replace function loci_internal.speak_of_two_things(
    p_older loci_api.fact_reading, p_newer loci_api.fact_reading, p_same_source boolean, p_signal text)
returns boolean
language plpgsql immutable parallel safe
as $$
begin
    return p_older.speaker <> p_newer.speaker or p_newer.speaker = 'other'
        or p_newer.speaker <> 'named' and not p_same_source
        or not coalesce(case
               when (p_newer.said).relation = 'change'
               then coalesce((p_older.said).subject, (p_older.said).sequence[:1])
                    @> coalesce((p_newer.said).subject, '{}')
                    and (p_newer.speaker <> 'named' or (p_older.said).sequence[1] = (p_newer.said).sequence[1])
               when p_signal = 'antonym' and p_newer.speaker in ('i', 'we')  -- I love jazz, I hate jazz
               then loci_internal.first_beside((p_older.said).sequence, (p_older.said).opposite_stems)
                    is not distinct from
                    loci_internal.first_beside((p_newer.said).sequence, (p_newer.said).opposite_stems)
               else (p_older.said).sequence[1] = (p_newer.said).sequence[1]
                    or p_signal = 'change' and p_newer.speaker in ('i', 'we') end, false)
        or p_signal = 'value_conflict'  -- lived in Paris does not end lives in Berlin
           and (p_older.past <> p_newer.past
                or not (coalesce((p_older.said).subject, '{}') <@ coalesce((p_newer.said).subject, '{}')
                        and coalesce((p_older.said).subject, '{}') @> coalesce((p_newer.said).subject, '{}')));
end $$;
comment on function loci_internal.speak_of_two_things(loci_api.fact_reading, loci_api.fact_reading, boolean, text) is
    'Whether two facts that seem to contradict each other speak of two things.';

-- Are the values by which two facts conflict of one kind, so that the later replaces the earlier? Both begin with a
-- name, or neither does (based in Madrid, based in the finance department); the verb has the same preposition (works at
-- Acme, works for Carol); both are of the same time (today, tomorrow); and what both add after a further preposition is
-- the same (reports to Bob on hardware, to Dan on software). Facts under one aspect need none of that; here nothing
-- says that two facts are about one thing. Pure.
create or replace function loci_internal.values_are_same_kind(p_older loci_api.fact_reading,
                                                              p_newer loci_api.fact_reading) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_times  constant text[]
        := '{today,tomorrow,yesterday,tonight,morn,afternoon,even,night,noon,week,weekend,next,last,first,second,'
           'third}';
    v_places constant text[] := '{in,on,at,for,with,as,to,from,by,dure,befor,after,until,when,if}';
    v_old    text[] := p_older.gist[array_position(p_older.gist, (p_older.said).value[1]) + 1:];
    v_new    text[] := p_newer.gist[array_position(p_newer.gist, (p_newer.said).value[1]) + 1:];
    v_old_at integer := (select min(n) from unnest(v_old) with ordinality u(w, n) where w = any (v_places));
    v_new_at integer := (select min(n) from unnest(v_new) with ordinality u(w, n) where w = any (v_places));
begin
    return array(select w from unnest(p_older.gist) w where w = any (v_times) order by 1) = array(select w
        from unnest(p_newer.gist) w where w = any (v_times) order by 1)
        and ((p_older.said).kind <> 'word'
             or ((p_older.said).value[1] = any (p_older.names)) = ((p_newer.said).value[1] = any (p_newer.names)))
        and ((p_older.said).relation <> 'fn'
             or array_position(v_places, p_older.gist[array_position(p_older.gist, (p_older.said).predicate) + 1])
                is not distinct from array_position(v_places,
                                                    p_newer.gist[array_position(p_newer.gist, (p_newer.said).predicate)
                                                                 + 1]))
        and (v_old_at is null or v_new_at is null or v_old[v_old_at:] = v_new[v_new_at:]);
end $$;
comment on function loci_internal.values_are_same_kind(loci_api.fact_reading, loci_api.fact_reading) is
    'Whether two values that conflict are of one kind.';

-- The first of some words that others lack. Pure.
create or replace function loci_internal.first_beside(p_words text[], p_others text[]) returns text
language sql immutable parallel safe
as $$
    select w.word from unnest(p_words) with ordinality w(word, place) where w.word <> all (coalesce(p_others, '{}'))
    order by w.place limit 1
$$;
comment on function loci_internal.first_beside(text[], text[]) is 'The first of some words that others lack.';

-- Does a stem that two facts share stand for two names (Andrea, Andreas)? One of both writes the word with a capital,
-- and they spell it otherwise; not words that the lexicon knows (Friday, Fridays). Pure.
create or replace function loci_internal.names_differ(p_older loci_api.fact_reading,
                                                      p_newer loci_api.fact_reading) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_older loci_internal.statement := p_older.said;
    v_newer loci_internal.statement := p_newer.said;
    v_stem  text;
begin
    foreach v_stem in array p_older.names || p_newer.names loop
        if v_older.spoken ->> v_stem is distinct from v_newer.spoken ->> v_stem
           and v_stem = any (v_older.words) and v_stem = any (v_newer.words)
           and not loci_internal.statement_lexicon() ? v_stem then
            return true;
        end if;
    end loop;
    return false;
end $$;
comment on function loci_internal.names_differ(loci_api.fact_reading, loci_api.fact_reading) is
    'Whether two facts have names that differ and share a stem.';

-- The words of a fact in order, as far as another may not say the same without them: not is, does, our, really, now.
-- "I have a beagle" and "my beagle" are one form, so are "is called" and "is named"; the two sides of an `and` are
-- sorted. Pure.
create or replace function loci_internal.words_that_matter(p_read loci_api.fact_reading) returns text[]
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_idle  constant text[]
        := '{is,are,am,be,been,do,doe,has,have,that,this,our,your,it,there,realli,veri,still,alreadi,actual,simpli,'
           'just,certain,definit,truli,pleas,to_correct,may_correct,now,current,nowaday,present,these_day,at_present,'
           'at_the_moment,right_now,as_of_now}';
    v_words text[];
begin
    v_words := array(
        select case when w.stem = 'i' and lead(w.stem) over (order by w.place) = 'have' then 'my'
                    when w.stem = 'call' and p_read.spoken[w.place] = 'called' then 'name' else w.stem end
        from unnest(p_read.gist) with ordinality w(stem, place) order by w.place);
    v_words := array(select w.stem from unnest(v_words) with ordinality w(stem, place)
                     where w.stem <> all (v_idle) order by w.place);
    for v_and in 2 .. cardinality(v_words) - 1 loop
        if v_words[v_and] in ('and', 'or', 'und', 'oder') and v_words[v_and - 1] > v_words[v_and + 1] then
            v_words := v_words[:v_and - 2] || v_words[v_and + 1] || v_words[v_and] || v_words[v_and - 1]
                       || v_words[v_and + 2:];
        end if;
    end loop;
    return v_words;
end $$;
comment on function loci_internal.words_that_matter(loci_api.fact_reading) is
    'Words of a fact without which another does not say the same.';

-- Is one list of words another, turned: its second part first? Pure.
create or replace function loci_internal.is_turned(p_one text[], p_other text[]) returns boolean
language sql immutable parallel safe
as $$
    select coalesce(bool_or(p_other[g.cut + 1:] || p_other[:g.cut] = p_one), false)
    from generate_series(1, cardinality(p_other) - 1) g(cut)
$$;
comment on function loci_internal.is_turned(text[], text[]) is 'Whether one list of words is another, turned.';
