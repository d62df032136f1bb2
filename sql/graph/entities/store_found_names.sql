-- Names that the worker found in memories. A name of a known entity is a mention of it. Another one waits until a
-- second memory has it, and then becomes an entity of type extracted, mentioned by both. Names shorter than setting
-- extracted_length are refused. p_namespaces, p_memories and p_names are parallel, and so are p_read_namespaces and
-- p_read: the memories that the worker has read, in whose texts stated entities are looked for as well
-- (stated_mentions). All mentions of a namespace are written at once, because their entities are locked in order.
-- Security definer; the operator's.
create or replace function loci_api.store_found_names(
    p_namespaces integer[], p_memories uuid[], p_names text[], p_read_namespaces integer[] default '{}',
    p_read uuid[] default '{}')
returns integer
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns       integer;
    v_shortest integer;
    v_new      jsonb;
    v_known    jsonb;
    v_total    integer := 0;
begin
    perform loci_internal.require_operator('note names');
    for v_ns in select distinct u from unnest(p_namespaces || p_read_namespaces) u order by u loop
        v_shortest := (loci_internal.settings(v_ns) ->> 'extracted_length')::integer;
        insert into loci_data.name_candidates (namespace_id, canonical_name, memory_id, name)
        select v_ns, loci.canonical_name(n.name), n.memory_id, min(n.name)
        from unnest(p_namespaces, p_memories, p_names) n(namespace_id, memory_id, name)
        where n.namespace_id = v_ns and length(n.name) between v_shortest and 255
          and exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = n.memory_id)
        group by 2, 3 order by 2, 3
        on conflict do nothing;

        select jsonb_agg(jsonb_build_object('name', r.name, 'type', 'extracted', 'seen_at', r.seen_at)
                         order by r.canonical_name) into v_new
        from (select c.canonical_name, min(c.name) as name, min(m.valid_from) as seen_at
              from (select distinct loci.canonical_name(n.name) as canonical_name
                    from unnest(p_namespaces, p_names) n(namespace_id, name) where n.namespace_id = v_ns) seen
              join loci_data.name_candidates c on c.namespace_id = v_ns and c.canonical_name = seen.canonical_name
              join loci_data.memories m on m.namespace_id = v_ns and m.id = c.memory_id
              where not exists (select from loci_data.entity_names e where e.namespace_id = v_ns
                                and e.canonical_name = seen.canonical_name)
              group by c.canonical_name having count(*) > 1) r;
        if v_new is not null then
            perform loci_internal.save_entities(v_ns, v_new, clock_timestamp());
        end if;

        with known as (
            delete from loci_data.name_candidates c
            using (select distinct loci.canonical_name(n.name) as canonical_name
                   from unnest(p_namespaces, p_names) n(namespace_id, name) where n.namespace_id = v_ns) seen
            where c.namespace_id = v_ns and c.canonical_name = seen.canonical_name
              and exists (select from loci_data.entity_names e where e.namespace_id = v_ns
                          and e.canonical_name = c.canonical_name)
            returning c.memory_id, loci_internal.find_entity_id(v_ns, c.name) as entity_id, c.name
        )
        select jsonb_agg(jsonb_build_object('memory_id', k.memory_id, 'entity_id', k.entity_id,
                                            'mention_text', k.name)) into v_known
        from known k;
        v_known := nullif(coalesce(v_known, '[]') || coalesce(loci_internal.stated_mentions(v_ns, array(
            select r.id from unnest(p_read_namespaces, p_read) r(namespace_id, id) where r.namespace_id = v_ns)),
                   '[]'), '[]');
        v_total := v_total + coalesce(loci_internal.insert_mentions(v_ns, v_known), 0);
        perform loci_internal.lower_first_seen(v_ns, array_agg(k.entity_id), array_agg(m.valid_from), clock_timestamp())
        from jsonb_to_recordset(v_known) k(memory_id uuid, entity_id uuid)
        join loci_data.memories m on m.namespace_id = v_ns and m.id = k.memory_id
        having count(*) > 0;
    end loop;
    return v_total;
end $$;
comment on function loci_api.store_found_names(integer[], uuid[], text[], integer[], uuid[]) is
    'Mentions and extracted entities from names found in memories, and mentions of stated entities in those read; '
    'returns the number of new mentions. Operator only.';

-- Something said of these entities dates from these moments: lower first_seen_at where that is earlier. Parallel
-- arrays. Rows are locked in order of canonical_name, like everywhere.
create or replace function loci_internal.lower_first_seen(p_namespace_id integer, p_ids uuid[],
                                                          p_seen_at timestamptz[], p_at timestamptz) returns void
language sql volatile
as $$
    with seen as materialized (
        select u.id, min(u.seen_at) as seen_at from unnest(p_ids, p_seen_at) u(id, seen_at) where u.seen_at is not null
        group by u.id
    ), locked as materialized (
        select e.id from loci_data.entities e join seen s on s.id = e.id
        where e.namespace_id = p_namespace_id and e.id = any(array(select s.id from seen s))
          and s.seen_at < e.first_seen_at
        order by e.canonical_name
        for no key update of e
    )
    update loci_data.entities e set first_seen_at = s.seen_at, updated_at = greatest(e.updated_at, p_at)
    from seen s
    where e.namespace_id = p_namespace_id and e.id = any(array(select l.id from locked l)) and e.id = s.id
      and s.seen_at < e.first_seen_at
$$;
comment on function loci_internal.lower_first_seen(integer, uuid[], timestamptz[], timestamptz) is
    'Lower first_seen_at of entities to when something said of them dates from.';

-- Entities that somebody stated, found in memories by name or alias: whole words, also in lower case and where no
-- convention of spelling tells a name. Those of type extracted are left to store_found_names, which knows them as the
-- worker
-- first saw them. JSON array of {memory_id, entity_id, mention_text}, null for none. Cost: that of
-- find_entities_in_text, a
-- text at a time; one index look-up in a namespace without stated entities. No errors.
create or replace function loci_internal.stated_mentions(p_namespace_id integer, p_memories uuid[]) returns jsonb
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
begin
    if not exists (select from loci_data.entities e where e.namespace_id = p_namespace_id and e.type <> 'extracted'
                   and e.merged_into is null) then
        return null;
    end if;
    return (
    select jsonb_agg(jsonb_build_object('memory_id', m.id, 'entity_id', e.id, 'mention_text', f.matched))
    from unnest(p_memories) c(memory_id)
    cross join lateral (select o.id, o.content from loci_data.memories o where o.namespace_id = p_namespace_id
                        and o.id = c.memory_id limit 1) m
    cross join lateral loci_internal.find_entities_in_text(p_namespace_id, left(m.content, 100000)) f
    cross join lateral (select n.id from loci_data.entities n
                        where n.namespace_id = p_namespace_id and n.id = f.id and n.type <> 'extracted'
                          and n.merged_into is null limit 1) e);
end $$;
comment on function loci_internal.stated_mentions(integer, uuid[]) is
    'Mentions of stated entities in the texts of memories, as insert_mentions takes them.';
