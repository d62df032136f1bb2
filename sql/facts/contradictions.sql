-- Contradictions between facts: the index of terms, candidates, and the test.

-- Does a newer statement about something make an older one obsolete, and what gives it away? No row: it does not. Both
-- are taken to be about the same aspect of the same entity. p_single_valued: what the aspect is declared as (null: the
-- words decide). Pure: for trying out and for tests; a write and a sweep use the same parts. English. About 0.5 ms.
-- Security definer: its parts are internal; it reads no data. No errors.
create or replace function loci.contradiction(p_older text, p_newer text, p_single_valued boolean default null,
                                              p_shared_tokens integer default 2)
returns table (signal text, confidence double precision, evidence text[])
language sql immutable parallel safe security definer set search_path = ''
as $$
    select c.* from loci_internal.compare_statements(loci_internal.read_statement(left(p_older, 10000)),
                                                     loci_internal.read_statement(left(p_newer, 10000)),
                                                     p_single_valued, p_shared_tokens) c
$$;
comment on function loci.contradiction(text, text, boolean, integer) is
    'Whether a newer statement contradicts an older one: signal (negation, antonym, value_conflict, temporal_marker), '
    'confidence, evidence; no row if not.';

-- Which siblings does a fact contradict, and which is the newer of each pair? Newer is what is true later: by
-- valid_from, then recorded_at, then id; so a back-dated fact is the older one, and is also compared with what its
-- siblings have superseded, and with what ended by itself: it may come between. Facts that were over before the other
-- began do not contradict. sure: the newer by itself holds as long as the older, and "now" leaves no doubt which of
-- several facts it ends. p_after: only with siblings that come after it by id, for a sweep (siblings_to_compare). Pairs
-- that were decided before are left out. Cost follows the candidates, not the aspect: 0.2 ms a candidate.
create or replace function loci_internal.find_contradictions(p_namespace_id integer, p_attribute_id uuid,
                                                             p_settings jsonb, p_after boolean)
returns table (older_id uuid, newer_id uuid, newer_from timestamptz, sure boolean, signal text,
               confidence double precision, evidence text[])
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_fact   loci_data.attributes;
    v_said   loci_internal.statement;
    v_single boolean;
begin
    select a.* into v_fact from loci_data.attributes a
    where a.namespace_id = p_namespace_id and a.id = p_attribute_id and a.status <> 'deleted'
      and a.valid_to is distinct from a.valid_from and a.kind = 'attribute';
    if not found then
        return;
    end if;
    v_said := loci_internal.read_statement(v_fact.content);
    v_single := (select s.single_valued from loci_data.aspects s
                 where s.namespace_id = p_namespace_id and s.id = v_fact.aspect_id);
    return query
    with pair as materialized (
        select b.*, loci_internal.read_statement(b.content) as said,
               (v_fact.valid_from, v_fact.recorded_at, v_fact.id) > (b.valid_from, b.recorded_at, b.id) as wins
        from loci_internal.siblings_to_compare(
            p_namespace_id, v_fact, v_single, loci_internal.contradiction_search_terms(v_said, v_single),
            (p_settings ->> 'supersession_candidates')::integer, p_after) x
        cross join lateral (select o.* from loci_data.attributes o where o.namespace_id = p_namespace_id
                            and o.id = x.id offset 0) b
        where b.id <> v_fact.id and b.status <> 'deleted' and b.kind = 'attribute'
          and b.valid_to is distinct from b.valid_from
          and loci_internal.periods_overlap(v_fact.valid_from, v_fact.valid_to, b.valid_from, b.valid_to)
          and not exists (select from loci_data.supersessions s where s.namespace_id = p_namespace_id
                          and s.status <> 'proposed'
                          and (s.older_id, s.newer_id) in ((v_fact.id, b.id), (b.id, v_fact.id)))
    )
    select case when p.wins then p.id else v_fact.id end, case when p.wins then v_fact.id else p.id end,
           greatest(v_fact.valid_from, p.valid_from),
           coalesce(case when p.wins then v_fact.own_to is null or p.valid_to <= v_fact.own_to
                         else p.own_to is null or v_fact.valid_to <= p.own_to end, false)
           and not (c.signal = 'temporal_marker' and loci_internal.several_begin_alike(
               p_namespace_id, v_fact.aspect_id, (case when p.wins then v_said else p.said end).now_prefix)),
           c.signal, c.confidence, c.evidence
    from pair p
    cross join lateral loci_internal.compare_statements(
        case when p.wins then p.said else v_said end, case when p.wins then v_said else p.said end, v_single,
        (p_settings ->> 'shared_tokens')::integer) c
    where c.confidence >= (p_settings ->> 'supersession_threshold')::double precision;
end $$;
comment on function loci_internal.find_contradictions(integer, uuid, jsonb, boolean) is
    'Pairs of active siblings that an attribute is part of and that contradict each other, with signal and evidence.';

-- Which siblings may a fact contradict? Those with terms that may contradict it (p_terms), p_limit for each: the
-- newest, or with p_after the next by id; where the aspect is single-valued, the most important ones too; those that
-- ended by themselves; and what siblings that begin later have superseded, which a back-dated fact may come between.
-- About 20 look-ups in attribute_terms. Inlines.
create or replace function loci_internal.siblings_to_compare(
    p_namespace_id integer, p_fact loci_data.attributes, p_single_valued boolean, p_terms text[], p_limit integer,
    p_after boolean)
returns table (id uuid)
language sql stable
as $$
    with recursive term as materialized (
        select distinct hashtextextended(k.term, 0) as term from unnest(p_terms) k(term)
    ), sibling as materialized (
        select t.attribute_id as id from term k
        cross join lateral (select t.attribute_id from loci_data.attribute_terms t
                            where not p_after and t.namespace_id = p_namespace_id
                              and t.aspect_id = (p_fact).aspect_id and t.term = k.term
                            order by t.attribute_id desc limit p_limit) t
        union
        select t.attribute_id from term k
        cross join lateral (select t.attribute_id from loci_data.attribute_terms t
                            where p_after and t.namespace_id = p_namespace_id and t.aspect_id = (p_fact).aspect_id
                              and t.term = k.term and t.attribute_id > (p_fact).id
                            order by t.attribute_id limit p_limit) t
        union
        (select a.id from loci_data.attributes a
         where p_single_valued and a.namespace_id = p_namespace_id and a.aspect_id = (p_fact).aspect_id
           and a.status = 'active'
         order by a.importance desc, a.id desc limit p_limit)
        union
        (select a.id from loci_data.attributes a  -- over, and nothing in their place
         where a.namespace_id = p_namespace_id and a.aspect_id = (p_fact).aspect_id and a.status = 'superseded'
           and a.superseded_by is null and a.valid_to > (p_fact).valid_from and a.valid_to > a.valid_from
         order by a.valid_to, a.id limit p_limit)
    ), before as (
        select a.id, 0 as steps from sibling x
        cross join lateral (select o.id from loci_data.attributes o where o.namespace_id = p_namespace_id
                            and o.id = x.id and o.valid_from > (p_fact).valid_from offset 0) a
        union
        select a.id, b.steps + 1 from before b
        cross join lateral (select o.id from loci_data.attributes o where o.namespace_id = p_namespace_id
                            and o.superseded_by = b.id and o.status = 'superseded'
                            and o.valid_to > (p_fact).valid_from and o.valid_to > o.valid_from offset 0) a
        where b.steps < p_limit
    )
    (select b.id from before b limit p_limit) union select x.id from sibling x
$$;
comment on function loci_internal.siblings_to_compare is
    'Siblings that a fact may contradict.';

-- Do more than two facts of an aspect begin with these words? Then none is the one that "now" ends. Null: there are no
-- such words. Primary key of attribute_terms.
create or replace function loci_internal.several_begin_alike(p_namespace_id integer, p_aspect_id uuid, p_prefix text[])
returns boolean
language plpgsql stable
as $$
begin
    return 2 < (select count(*) from (
        select from loci_data.attribute_terms t
        where t.namespace_id = p_namespace_id and t.aspect_id = p_aspect_id
          and t.term = hashtextextended('p ' || array_to_string(p_prefix, ' '), 0) limit 3) alike);
end $$;
comment on function loci_internal.several_begin_alike(integer, uuid, text[]) is
    'Whether more than two facts of an aspect begin with the same words.';

-- Which terms do statements offer that this one contradicts, or that contradict it (contradiction_index_terms)? For
-- each signal, in
-- both directions: what it denies has its last stem; what denies it has one of its stems as the last; and so on. A word
-- that is common among the siblings is searched only if there is no rarer one. Pure.
create or replace function loci_internal.contradiction_search_terms(p_statement loci_internal.statement,
                                                                    p_single_valued boolean) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select case when num_nonnulls(p_statement.negators, p_statement.past) > 0
                then array['t ' || p_statement.sequence[cardinality(p_statement.sequence)]] else '{}' end
        || array(select 't ' || r.rest[cardinality(r.rest)] from unnest(p_statement.opposite_stems) o(stem)
                 cross join lateral (select array_remove(p_statement.sequence, o.stem) as rest) r where r.rest <> '{}')
        || case when p_statement.relation = 'change'
                then array['t '
                           || (coalesce(p_statement.replaced, p_statement.subject))[cardinality(
                               coalesce(p_statement.replaced, p_statement.subject))]]
                else '{}' end
        || array(select k.kind || s.stem from unnest(p_statement.sequence) s(stem)
                 cross join (values ('d '), ('c ')) k(kind))
        || array(select 'a ' || translate(o.side, '+-', '-+') || ' ' || s.stem
                 from unnest(p_statement.opposites) o(side)
                 cross join unnest(p_statement.sequence || array['']) s(stem))
        || case when p_single_valued is false then '{}' else loci_internal.value_terms(p_statement) end
        || array['n ' || array_to_string(p_statement.sequence[:2], ' '),
                 'n ' || array_to_string(p_statement.sequence[:3], ' ')]
        || case when p_statement.now_prefix is not null
            then array['p ' || array_to_string(p_statement.now_prefix, ' ')] else '{}' end
        || case when p_single_valued then array(select 't ' || s from unnest(p_statement.sequence) s) else '{}' end);
end $$;
comment on function loci_internal.contradiction_search_terms(loci_internal.statement, boolean) is
    'Terms of statements that a statement may contradict or be contradicted by.';

-- Trigger: attribute_terms holds the terms of active facts, and of nothing else: constraints are never superseded
-- automatically. A fact that is new, moved or active again waits in contradiction_queue to be compared with its
-- siblings by a model, if the namespace wants that. Reads the statement (0.3 ms) where content, status or aspect
-- changed.
create or replace function loci_internal.index_attribute_terms() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    if tg_op = 'UPDATE' then
        delete from loci_data.attribute_terms t where t.namespace_id = old.namespace_id and t.attribute_id = old.id;
        delete from loci_data.contradiction_queue q where q.namespace_id = old.namespace_id and q.attribute_id = old.id;
    end if;
    if new.status = 'active' and new.kind = 'attribute' then
        insert into loci_data.attribute_terms (namespace_id, aspect_id, term, attribute_id)
        select distinct new.namespace_id, new.aspect_id, hashtextextended(t.term, 0), new.id
        from unnest(loci_internal.contradiction_index_terms(loci_internal.read_statement(new.content))) t(term)
        where t.term is not null;
        insert into loci_data.contradiction_queue (namespace_id, attribute_id) values (new.namespace_id, new.id)
        on conflict do nothing;
    end if;
    return null;
end $$;
comment on function loci_internal.index_attribute_terms() is
    'Trigger: keep attribute_terms and contradiction_queue of a changed attribute.';

-- Under what is a statement found by those that may contradict it? Hashes, about three more than it has words; a
-- contradicting fact searches for one of them (contradiction_search_terms):
--   t stem        each stem of its sequence
--   d stem        denied, or told as past: the last stem, which who states the same has too
--   a side stem   a word that has an opposite: the last stem beside it
--   c stem        a change: the last stem of what is said to have changed
--   v …           subject and predicate, if it gives a value to something that has one; the predicate alone where the
--            subject may be left out
--   p …           how it begins: its first two and three stems
--   n …           how it begins, as far as the word after now
-- Pure.
create or replace function loci_internal.contradiction_index_terms(p_statement loci_internal.statement) returns text[]
language plpgsql immutable parallel safe
as $$
begin
    return (
    select array(select 't ' || s from unnest(p_statement.sequence) s)
        || case when num_nonnulls(p_statement.negators, p_statement.past) > 0
                then array['d ' || p_statement.sequence[cardinality(p_statement.sequence)]] else '{}' end
        || array(select 'a ' || o.side || ' ' || coalesce(r.rest[cardinality(r.rest)], '')
                 from unnest(p_statement.opposites, p_statement.opposite_stems) o(side, stem)
                 cross join lateral (select array_remove(p_statement.sequence, o.stem) as rest) r)
        || case when p_statement.relation = 'change'
                then array['c '
                           || (coalesce(p_statement.replaced, p_statement.subject))[cardinality(
                               coalesce(p_statement.replaced, p_statement.subject))]]
                else '{}' end
        || loci_internal.value_terms(p_statement)
        || array['p ' || array_to_string(p_statement.sequence[:2], ' '),
                 'p ' || array_to_string(p_statement.sequence[:3], ' ')]
        || case when p_statement.now_prefix is not null
            then array['n ' || array_to_string(p_statement.now_prefix, ' ')] else '{}' end);
end $$;
comment on function loci_internal.contradiction_index_terms(loci_internal.statement) is
    'Terms under which a statement is found by what may contradict it.';

-- loci_data.attribute_terms follows loci_data.attributes in the same transaction. Attributes follow the memory that
-- they rest on: one look-up in attributes_memory, where a memory's status changes.
create or replace trigger attributes_terms_added after insert on loci_data.attributes
    for each row execute function loci_internal.index_attribute_terms();

create or replace trigger attributes_terms_changed after update on loci_data.attributes
    for each row when ((old.content, old.status, old.kind, old.aspect_id)
                       is distinct from (new.content, new.status, new.kind, new.aspect_id))
    execute function loci_internal.index_attribute_terms();
