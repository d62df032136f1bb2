-- What was true before and after an interlude: the statement that a new version interrupted goes on where that one ends, until
-- where it would have ended, as one more version, with the entities that it mentions. Called by supersede_memories; internal.
create or replace function loci.resume_versions(p_namespace_id integer, p_plan loci.memory_input[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_pairs jsonb; -- id of the interrupted version: id of the one that goes on
begin
    update loci_data.lineages l set versions = l.versions + 1
    from unnest(p_plan) i where i.resumes and not i.duplicate and l.namespace_id = p_namespace_id and l.lineage = i.lineage;

    select jsonb_object_agg(i.ends, loci.uuid7()) into v_pairs from unnest(p_plan) i where i.resumes and not i.duplicate;
    insert into loci_data.memories overriding user value  -- in the order of its columns
    select p_namespace_id, (v_pairs ->> m.id::text)::uuid, null, m.lineage, m.lineage_id, l.versions, m.content, m.content_hash, m.fold_scope,
           i.valid_to, b.valid_to, i.recorded_at, i.recorded_at, null, 'active', m.source, m.session_id, m.observations, m.last_observed_at,
           (select loci.caller()), i.recorded_at, (m.details).*
    from unnest(p_plan) i
    join loci_data.lineages l on l.namespace_id = p_namespace_id and l.lineage = i.lineage
    cross join lateral (select o.*, loci.memory_details(o) as details from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.id = i.ends limit 1) m
    cross join lateral (select o.valid_to from loci_data.memory_beliefs o
                        where o.namespace_id = p_namespace_id and o.memory_id = m.id order by o.believed_at desc limit 1) b
    where i.resumes and not i.duplicate order by i.ordinal;
    perform loci.mention_entities(p_namespace_id, jsonb_agg(jsonb_build_object(
        'memory_id', v_pairs -> (n.memory_id::text), 'entity_id', n.entity_id, 'mention_text', n.mention_text)))
    from jsonb_object_keys(v_pairs) p(id)
    join loci_data.memory_mentions n on n.namespace_id = p_namespace_id and n.memory_id = p.id::uuid
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id and e.merged_into is null
    having count(*) > 0;
end $$;
comment on function loci.resume_versions(integer, loci.memory_input[]) is 'Let interrupted statements go on after the versions that interrupted them. Internal.';
