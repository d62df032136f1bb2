-- Names that the worker found in memories (row R9). A name of a known entity is a mention of it. Another one waits until a
-- second memory has it, and then becomes an entity of type extracted, mentioned by both. Names shorter than setting
-- extracted_length are refused (row G3). p_namespaces, p_memories and p_names are parallel, and so are p_read_namespaces and p_read: the
-- memories that the worker has read, in whose texts stated entities are looked for as well (stated_mentions). All mentions of a namespace are
-- written at once, because their entities are locked in order. Security definer; the operator's.
create or replace function loci.note_names(
    p_namespaces integer[], p_memories uuid[], p_names text[], p_read_namespaces integer[] default '{}', p_read uuid[] default '{}')
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
    perform loci.require_operator('note names');
    for v_ns in select distinct u from unnest(p_namespaces || p_read_namespaces) u order by u loop
        v_shortest := (loci.settings(v_ns) ->> 'extracted_length')::integer;
        insert into loci_data.name_candidates (namespace_id, canonical_name, memory_id, name)
        select v_ns, loci.canonical_name(n.name), n.memory_id, min(n.name)
        from unnest(p_namespaces, p_memories, p_names) n(namespace_id, memory_id, name)
        where n.namespace_id = v_ns and length(n.name) between v_shortest and 255
          and exists (select from loci_data.memories m where m.namespace_id = v_ns and m.id = n.memory_id)
        group by 2, 3 order by 2, 3
        on conflict do nothing;

        select jsonb_agg(jsonb_build_object('name', r.name, 'type', 'extracted', 'seen_at', r.seen_at) order by r.canonical_name) into v_new
        from (select c.canonical_name, min(c.name) as name, min(m.valid_from) as seen_at
              from (select distinct loci.canonical_name(n.name) as canonical_name
                    from unnest(p_namespaces, p_names) n(namespace_id, name) where n.namespace_id = v_ns) seen
              join loci_data.name_candidates c on c.namespace_id = v_ns and c.canonical_name = seen.canonical_name
              join loci_data.memories m on m.namespace_id = v_ns and m.id = c.memory_id
              where not exists (select from loci_data.entity_names e where e.namespace_id = v_ns and e.canonical_name = seen.canonical_name)
              group by c.canonical_name having count(*) > 1) r;
        if v_new is not null then
            perform loci.save_entities(v_ns, v_new, clock_timestamp());
        end if;

        with known as (
            delete from loci_data.name_candidates c
            using (select distinct loci.canonical_name(n.name) as canonical_name
                   from unnest(p_namespaces, p_names) n(namespace_id, name) where n.namespace_id = v_ns) seen
            where c.namespace_id = v_ns and c.canonical_name = seen.canonical_name
              and exists (select from loci_data.entity_names e where e.namespace_id = v_ns and e.canonical_name = c.canonical_name)
            returning c.memory_id, loci.entity_id(v_ns, c.name) as entity_id, c.name
        )
        select jsonb_agg(jsonb_build_object('memory_id', k.memory_id, 'entity_id', k.entity_id, 'mention_text', k.name)) into v_known
        from known k;
        v_known := nullif(coalesce(v_known, '[]') || coalesce(loci.stated_mentions(v_ns, array(
            select r.id from unnest(p_read_namespaces, p_read) r(namespace_id, id) where r.namespace_id = v_ns)), '[]'), '[]');
        v_total := v_total + coalesce(loci.mention_entities(v_ns, v_known), 0);
        perform loci.see_entities(v_ns, array_agg(k.entity_id), array_agg(m.valid_from), clock_timestamp())
        from jsonb_to_recordset(v_known) k(memory_id uuid, entity_id uuid)
        join loci_data.memories m on m.namespace_id = v_ns and m.id = k.memory_id
        having count(*) > 0;
    end loop;
    return v_total;
end $$;
comment on function loci.note_names(integer[], uuid[], text[], integer[], uuid[]) is 'Mentions and extracted entities from names found in memories, and mentions of stated entities in those read; returns the number of new mentions. Operator only.';
