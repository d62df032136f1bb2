-- Profile of a user: memories that are always of use.

-- What should an agent know before anybody has asked anything? The most important memories that are visible at the two
-- times, but for those of p_without, the newest of equal ones first: document numbers. Importance is the present one.
-- Walks down the index memories_importance until p_limit of them pass; bounded: 20,000 rows, so that a long history of
-- superseded versions costs some 20 ms at most.
create or replace function loci_internal.most_important_memories(
    p_namespace_id integer, p_limit integer, p_as_of timestamptz default null, p_known_at timestamptz default null,
    p_without bigint[] default '{}')
returns bigint[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_sort = off
as $$
declare
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(p_namespace_id, '{}', p_as_of, p_known_at);
begin
    return array(
        select w.doc_id
        from (select m as memory, m.importance, m.doc_id from loci_data.memories m
              where m.namespace_id = p_namespace_id and m.importance >= 0  -- the index's condition
              order by m.importance desc, m.doc_id desc limit 20000) w
        where w.doc_id <> all (p_without) and loci_internal.memory_is_visible(w.memory, v_filter)
        order by w.importance desc, w.doc_id desc limit p_limit);
end $$;
comment on function loci_internal.most_important_memories(integer, integer, timestamptz, timestamptz, bigint[]) is
    'Most important visible memories but for some, newest of equal ones first.';

-- What is known of the one who asks? Document numbers of memories, the most important first, then those that were
-- confirmed most often, then the newest: what the party says in the first person, and, where it has a name, what is
-- about that name or an alias of it. Facts (layers 0 to 2) that are visible at the two times; neither files nor an
-- assistant's words. Importance is the present one. Indexes: memories_first_person, memories_about; and
-- memory_mentions_entity for what begins with the name, which is therefore found once its name has been read. Bounded:
-- the 2,000 most important rows of each of the first two, all versions counted, and the 500 newest memories that
-- mention the name. Some 0.4 ms where there is nothing, 3 ms for each bound that is reached.
create or replace function loci_internal.profile_memories(
    p_namespace_id integer, p_party text, p_limit integer, p_as_of timestamptz default null,
    p_known_at timestamptz default null)
returns bigint[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
    v_filter  loci_internal.memory_filter := loci_internal.resolve_filter(p_namespace_id, '{"layers": [0, 1, 2]}',
                                                                          p_as_of, p_known_at);
    v_names   text[] := case when starts_with(p_party, 'name ')
                             then loci_internal.names_of(p_namespace_id, substr(p_party, 6)) else '{}' end;
    v_parties text[] := case when v_names = '{}' then array[p_party]
                             else array(select 'name ' || n.name from unnest(v_names) n(name)) end;
begin
    return array(
        select k.doc_id
        from (select c.doc_id, max(c.importance) as importance, max(c.observations) as observations,
                     bool_or(c.certain) as certain
              from (select s.*, true as certain from unnest(v_parties) p(party)
                    cross join lateral loci_internal.said_in_first_person(p_namespace_id, p.party) s
                    union all
                    select s.*, true from unnest(v_names) n(name)
                    cross join lateral loci_internal.stated_about(p_namespace_id, n.name) s
                    union all
                    select s.*, false from loci_internal.beginning_with_names(p_namespace_id, v_names) s) c
              group by c.doc_id order by 2 desc, 3 desc, 1 desc offset 0) k
        cross join lateral (select o as memory, o.source, o.lineage, o.metadata from loci_data.memories o
                            where o.namespace_id = p_namespace_id and o.doc_id = k.doc_id limit 1) m
        where m.source is distinct from 'assistant' and m.lineage is distinct from m.metadata ->> 'path'
          and loci_internal.memory_is_visible(m.memory, v_filter)
          and case when k.certain then true
                   else loci.canonical_name(loci.memory_about(m.memory)) = any (v_names) end
        order by k.importance desc, k.observations desc, k.doc_id desc limit p_limit);
end $$;
comment on function loci_internal.profile_memories(integer, text, integer, timestamptz, timestamptz) is
    'Profile of a party: document numbers, the most important first.';

-- Statements of a party in the first person: the 2,000 most important rows, the newest of equal ones first. Walks down
-- the index memories_first_person, whose expressions are the bodies of memory_party and is_first_person. Inlines.
create or replace function loci_internal.said_in_first_person(p_namespace_id integer, p_party text)
returns table (doc_id bigint, importance double precision, observations integer)
language sql stable parallel safe
as $$
    select m.doc_id, m.importance, m.observations from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.layer <= 2 and loci.is_first_person(m.content)
      and loci_internal.memory_party(m.source, m.created_by) = p_party
    order by m.importance desc, m.doc_id desc limit 2000
$$;
comment on function loci_internal.said_in_first_person(integer, text) is
    'Rows of what a party says in the first person, the most important first.';

-- Statements about a name, in its canonical form: the 2,000 most important rows, the newest of equal ones first. Walks
-- down the index memories_about, whose expression is the body of canonical_name. Inlines.
create or replace function loci_internal.stated_about(p_namespace_id integer, p_name text)
returns table (doc_id bigint, importance double precision, observations integer)
language sql stable parallel safe
as $$
    select m.doc_id, m.importance, m.observations from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.layer <= 2 and m.about is not null
      and loci.canonical_name(m.about) = p_name
    order by m.importance desc, m.doc_id desc limit 2000
$$;
comment on function loci_internal.stated_about(integer, text) is
    'Rows of what is stated to be about a name, the most important first.';

-- Which memories begin with one of these names, and state nobody whom they are about? Of the 500 newest that mention
-- an entity of the name. They may be about a longer name yet (memory_about). A range of the index
-- memory_mentions_entity, and a look-up each.
create or replace function loci_internal.beginning_with_names(p_namespace_id integer, p_names text[])
returns table (doc_id bigint, importance double precision, observations integer)
language sql stable parallel safe
as $$
    select m.doc_id, m.importance, m.observations
    from (select max(length(n.name)) as longest from unnest(p_names) n(name)) l
    cross join (select distinct n.entity_id from loci_data.entity_names n
                where n.namespace_id = p_namespace_id and n.canonical_name = any (p_names)) e
    cross join lateral (select i.memory_id from loci_data.memory_mentions i
                        where i.namespace_id = p_namespace_id and i.entity_id = e.entity_id
                        order by i.memory_id desc limit 500) i
    cross join lateral (select o.doc_id, o.importance, o.observations, o.layer, o.about,
                               ltrim(loci.fold_characters(left(o.content, 2 * l.longest + 10)), ' "([*#>-') as opening
                        from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.id = i.memory_id limit 1) m
    where m.layer <= 2 and m.about is null
      and exists (select from unnest(p_names) n(name) where starts_with(m.opening, n.name))
$$;
comment on function loci_internal.beginning_with_names(integer, text[]) is
    'Rows of memories that begin with a name that they mention.';
