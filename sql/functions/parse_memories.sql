-- The items of a write, typed: one scan of the JSON. An item that states no valid_from and is no episode may fold into an
-- exact duplicate (row M4). An item that corrects a memory is written to its lineage. round: how many items of the same lineage stand before it, so that a round never has two.
-- Called by remember; internal. Errors: 22023 with the item's position and field.
create or replace function loci.parse_memories(p_namespace_id integer, p_items jsonb) returns loci.memory_input[]
language sql volatile set search_path = ''
as $$
    select array_agg(row(i.*)::loci.memory_input order by i.ordinal)
    from (
        select (i.ordinal - 1)::integer as ordinal, row_number() over (partition by i.lineage order by i.ordinal)::integer,
               coalesce(i.id, loci.uuid7()), i.content, loci.content_hash(i.content),
               case when (i.details).layer = 3 or i.valid_from is not null or i.valid_to is not null or i.corrects is not null then null
                    else coalesce(i.lineage, '') end,
               i.lineage, i.parent_id, i.valid_from, i.valid_to, i.source, i.session_id, i.embedding, i.corrects,
               null::timestamptz, null::uuid, false, null::uuid, null::timestamptz, false, i.details
        from (
            select u.id, u.content, coalesce(u.lineage, (select m.lineage from loci_data.memories m
                                                         where m.namespace_id = p_namespace_id and m.id = u.corrects), u.corrects::text) as lineage,
                   u.parent_id, u.valid_from, u.valid_to, u.source, u.session_id, u.embedding, u.corrects,
                   jsonb_populate_record(null::loci.memory_details, u.item) as details, u.ordinal
            from rows from (jsonb_to_recordset(p_items) as (
                     id uuid, content text, lineage text, parent_id uuid, valid_from timestamptz, valid_to timestamptz, source text,
                     session_id text, embedding real[], corrects uuid), jsonb_array_elements(p_items)) with ordinality
                 as u(id, content, lineage, parent_id, valid_from, valid_to, source, session_id, embedding, corrects, item, ordinal)) i
    ) i
$$;
comment on function loci.parse_memories(integer, jsonb) is 'JSON array of memory items as memory_input[]. Internal.';
