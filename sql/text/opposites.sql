-- Opposites: antonyms, voices and values that differ.

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

-- Is what one statement does done to it in the other (I teach, I am taught; Ann manages Bob, Ann is managed by Bob)? A
-- word that both have is a participle after be or get in one of them, and is not in the other, where it is spoken
-- otherwise, or before by. Pure; without be or get 1 µs.
create or replace function loci_internal.voices_differ(p_older loci_internal.statement,
                                                       p_newer loci_internal.statement) returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_older text[] := loci_internal.passive_words(p_older);
    v_newer text[] := loci_internal.passive_words(p_newer);
    v_stem  text;
begin
    foreach v_stem in array v_older || v_newer loop
        if (v_stem = any (v_older)) <> (v_stem = any (v_newer))
           and v_stem = any (p_older.words) and v_stem = any (p_newer.words)
           and (p_older.spoken ->> v_stem is distinct from p_newer.spoken ->> v_stem
                or 'by' in (p_older.words[array_position(p_older.words, v_stem) + 1],
                            p_newer.words[array_position(p_newer.words, v_stem) + 1])) then
            return true;
        end if;
    end loop;
    return false;
end $$;
comment on function loci_internal.voices_differ(loci_internal.statement, loci_internal.statement) is
    'Whether one statement tells as done what the other tells as suffered.';

-- Which words of a statement are participles after be or get (are taught, is currently managed), or stand so before by
-- (is run by)? Stems. Pure.
create or replace function loci_internal.passive_words(p_said loci_internal.statement) returns text[]
language plpgsql immutable parallel safe
as $$
declare
    v_be    constant text[] := '{is,are,am,be,was,were,been,get,got}';
    v_words text[] := p_said.words;
    v_word  text;
    v_found text[] := '{}';
begin
    if v_words && v_be then
        for v_place in 2 .. cardinality(v_words) loop
            v_word := coalesce(p_said.spoken ->> v_words[v_place], v_words[v_place]);
            if v_words[v_place - 2:v_place - 1] && v_be and v_words[v_place] <> all (v_be)
               and (v_words[v_place + 1] = 'by'
                    or v_word <> v_words[v_place] and v_word !~ '(ing|s|ly|y|e|er)$') then
                v_found := v_found || v_words[v_place];
            end if;
        end loop;
    end if;
    return v_found;
end $$;
comment on function loci_internal.passive_words(loci_internal.statement) is
    'Participles after be or get in a statement.';

-- Do the words of one statement stand in another in the same order? One may end with the beginning of the other ("on
-- Fridays the office is closed"), so a rotation keeps the order; subject and object exchanged (Ann manages Bob) do not.
-- Pure.
create or replace function loci_internal.words_keep_order(p_part text[], p_whole text[]) returns boolean
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_place integer;
    v_word  text;
begin
    if not p_part <@ p_whole then
        return false;
    end if;
    for v_first in 1 .. cardinality(p_part) loop
        v_place := 0;
        foreach v_word in array p_part[v_first:] || p_part[:v_first - 1] loop
            v_place := array_position(p_whole, v_word, v_place + 1);
            exit when v_place is null;
        end loop;
        if v_place is not null then
            return true;
        end if;
    end loop;
    return p_part = '{}';
end $$;
comment on function loci_internal.words_keep_order(text[], text[]) is
    'Whether the words of one list stand in another in the same order, but for what opens it.';

-- Which words say opposite things of the same topic? One row a pair; inflected forms share a stem (Snowball English),
-- so enable/disable stands for enables, enabled and enabling too. A word may stand in several pairs. To teach Loci a
-- pair, add a row. Pairs that are true of one thing at two times of day, or of two parts of it (morning/evening,
-- left/right), are left out. Constant.
create or replace function loci_internal.antonym_pairs() returns table (one text, other text)
language sql immutable parallel safe rows 130
as $$
    values ('enable', 'disable'), ('allow', 'deny'), ('allow', 'forbid'), ('allowed', 'forbidden'),
           ('allow', 'prohibit'), ('allow', 'block'),
        ('permit', 'forbid'), ('permitted', 'forbidden'), ('permit', 'prohibit'), ('grant', 'deny'),
        ('always', 'never'), ('on', 'off'), ('true', 'false'), ('yes', 'no'),
        ('married', 'divorced'), ('married', 'single'), ('married', 'unmarried'), ('married', 'widowed'),
        ('love', 'hate'), ('like', 'hate'),
        ('like', 'dislike'), ('love', 'dislike'), ('love', 'despise'), ('enjoy', 'hate'), ('enjoy', 'dislike'),
        ('adore', 'hate'), ('prefer', 'avoid'),
        ('trust', 'distrust'), ('trust', 'mistrust'), ('agree', 'disagree'), ('approve', 'reject'),
        ('approve', 'disapprove'), ('approved', 'denied'),
        ('start', 'stop'), ('begin', 'stop'), ('continue', 'stop'), ('join', 'leave'), ('joined', 'left'),
        ('join', 'quit'), ('alive', 'dead'),
        ('active', 'inactive'), ('activate', 'deactivate'), ('increase', 'decrease'), ('increase', 'reduce'),
        ('rise', 'fall'), ('raise', 'lower'),
        ('grow', 'shrink'), ('before', 'after'), ('open', 'closed'), ('opened', 'closed'), ('public', 'private'),
        ('accept', 'reject'), ('accept', 'refuse'),
        ('accept', 'decline'), ('hot', 'cold'), ('warm', 'cold'), ('present', 'absent'), ('success', 'failure'),
        ('succeed', 'fail'),
        ('passed', 'failed'), ('pass', 'fail'), ('passing', 'failing'), ('successful', 'unsuccessful'),
        ('online', 'offline'), ('employed', 'unemployed'), ('employed', 'retired'),
        ('vegetarian', 'carnivore'), ('vegan', 'carnivore'), ('locked', 'unlocked'), ('required', 'optional'),
        ('mandatory', 'optional'),
        ('compulsory', 'optional'), ('secure', 'insecure'), ('safe', 'unsafe'), ('safe', 'dangerous'),
        ('stable', 'unstable'),
        ('synchronous', 'asynchronous'), ('mutable', 'immutable'), ('valid', 'invalid'), ('visible', 'hidden'),
        ('visible', 'invisible'),
        ('available', 'unavailable'), ('supported', 'unsupported'), ('support', 'oppose'), ('paid', 'unpaid'),
        ('free', 'paid'), ('paid', 'free'), ('full', 'empty'),
        ('encrypted', 'unencrypted'), ('encrypted', 'plaintext'), ('verified', 'unverified'), ('known', 'unknown'),
        ('healthy', 'sick'), ('healthy', 'ill'),
        ('positive', 'negative'), ('benign', 'malignant'), ('pregnant', 'childless'), ('guilty', 'innocent'),
        ('legal', 'illegal'), ('won', 'lost'),
        ('win', 'lose'), ('buy', 'sell'), ('hired', 'fired'), ('introvert', 'extrovert'),
        ('introverted', 'extroverted'), ('rich', 'poor'), ('happy', 'unhappy'),
        ('happy', 'sad'), ('awake', 'asleep'), ('wet', 'dry'), ('clean', 'dirty'), ('cheap', 'expensive'),
        ('fast', 'slow'), ('easy', 'difficult'),
        ('easy', 'hard'), ('strong', 'weak'), ('tall', 'short'), ('old', 'young'), ('early', 'late'), ('high', 'low'),
        ('automatic', 'manual'),
        ('automated', 'manual'), ('static', 'dynamic'), ('temporary', 'permanent'), ('internal', 'external'),
        ('local', 'remote'), ('connected', 'disconnected'),
        ('installed', 'uninstalled'), ('included', 'excluded'), ('include', 'exclude'), ('resolved', 'unresolved'),
        ('fixed', 'broken'), ('working', 'broken'),
        ('solved', 'unsolved'), ('read-only', 'writable'), ('deprecated', 'supported'), ('complete', 'incomplete'),
        ('finished', 'unfinished'),
        ('certified', 'uncertified'), ('lactose-tolerant', 'lactose-intolerant'), ('tolerant', 'intolerant'),
        ('up', 'down')
$$;
comment on function loci_internal.antonym_pairs() is
    'Pairs of words that say opposite things of the same topic.';

-- In which pairs of opposites does a stem stand, and on which side? Stem → array such as ["12+", "40-"]: what opposes
-- 12+ is 12-. Constant: folded once a plan (about 1 ms).
create or replace function loci_internal.antonym_sides() returns jsonb
language sql immutable parallel safe
as $$
    with pair as (
        select row_number() over (order by a.one, a.other) as number, a.one, a.other
        from loci_internal.antonym_pairs() a
    ), side as (
        select distinct loci_internal.word_stem(s.word) as stem, s.side
        from pair p cross join lateral (values (p.one, p.number || '+'), (p.other, p.number || '-')) s(word, side)
    )
    select jsonb_object_agg(g.stem, g.sides)
    from (select s.stem, jsonb_agg(s.side order by s.side) as sides from side s group by s.stem) g
$$;
comment on function loci_internal.antonym_sides() is
    'Stem → pairs of opposites and sides in them.';
