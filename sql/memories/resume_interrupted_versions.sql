-- An interrupted statement goes on after the interlude: from where the new version ends until where the statement
-- would have ended, as one more version, with the entities that it mentions, the edges that it shows
-- (carry_observations) and the facts that rest on it (resume_facts).
create or replace function loci_internal.resume_interrupted_versions(p_namespace_id integer,
                                                                     p_plan loci_internal.memory_input[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_pairs jsonb;  -- id of the interrupted version: id of the one that goes on
    v_ids   uuid[];
    v_made  uuid[];
begin
    update loci_data.lineages l set versions = l.versions + 1
    from unnest(p_plan) i where i.resumes and not i.duplicate and l.namespace_id = p_namespace_id
        and l.lineage = i.lineage;

    select jsonb_object_agg(i.ends, loci_api.uuid7()) into v_pairs from unnest(p_plan) i where i.resumes
        and not i.duplicate;
    insert into loci_data.memories overriding user value  -- in the order of its columns
    select p_namespace_id, (v_pairs ->> m.id::text)::uuid, null, m.lineage, m.lineage_id, l.versions, m.content,
           m.content_hash, m.fold_scope,
           i.valid_to, b.valid_to, i.recorded_at, i.recorded_at, null, 'active', m.source, m.session_id,
           m.observations, m.last_observed_at,
           (select loci.current_agent()), i.recorded_at, (m.details).*
    from unnest(p_plan) i
    join loci_data.lineages l on l.namespace_id = p_namespace_id and l.lineage = i.lineage
    cross join lateral (select o.*, loci.memory_details(o) as details from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.id = i.ends limit 1) m
    cross join lateral (select o.valid_to from loci_data.memory_beliefs o
                        where o.namespace_id = p_namespace_id and o.memory_id = m.id
                        order by o.believed_at desc limit 1) b
    where i.resumes and not i.duplicate order by i.ordinal;
    perform loci_internal.insert_mentions(p_namespace_id, jsonb_agg(jsonb_build_object(
        'memory_id', v_pairs -> (n.memory_id::text), 'entity_id', n.entity_id, 'mention_text', n.mention_text)))
    from jsonb_object_keys(v_pairs) p(id)
    join loci_data.memory_mentions n on n.namespace_id = p_namespace_id and n.memory_id = p.id::uuid
    join loci_data.entities e on e.namespace_id = p_namespace_id and e.id = n.entity_id and e.merged_into is null
    having count(*) > 0;
    v_made := array(select v.value::uuid from jsonb_each_text(v_pairs) v order by v.key);
    v_ids := array(select v.key::uuid from jsonb_each_text(v_pairs) v order by v.key);
    perform loci_internal.carry_observations(p_namespace_id, v_ids, v_made);
    perform loci_internal.settle_observations(p_namespace_id, array(
        select o.id from loci_data.edge_observations o where o.namespace_id = p_namespace_id
            and o.carried_by && v_made));
    perform loci_internal.resume_facts(p_namespace_id, v_ids, v_made);
end $$;
comment on function loci_internal.resume_interrupted_versions(integer, loci_internal.memory_input[]) is
    'Let interrupted statements go on after the versions that interrupted them.';

-- Facts that held until their memory was interrupted hold again from where it goes on, as facts of their own: until
-- when was stated of the first, unless siblings are in the way. p_ids and p_made are pairs. Index attributes_memory.
create or replace function loci_internal.resume_facts(p_namespace_id integer, p_ids uuid[], p_made uuid[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_id uuid;
    v_at timestamptz := clock_timestamp();
begin
    for v_id in
        insert into loci_data.attributes (namespace_id, id, aspect_id, kind, content, memory_id, confidence, importance,
                                          valid_from, valid_to, stated_to, own_to, recorded_at, updated_at)
        select p_namespace_id, loci_api.uuid7(), a.aspect_id, a.kind, a.content, n.id, a.confidence, a.importance,
               n.valid_from, least(a.stated_to, n.valid_to), a.stated_to, least(a.stated_to, n.valid_to), v_at, v_at
        from unnest(p_ids, p_made) u(id, made)
        join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = u.id
        join loci_data.memories n on n.namespace_id = p_namespace_id and n.id = u.made
        join loci_data.attributes a on a.namespace_id = p_namespace_id and a.memory_id = m.id
        where a.taken_back_at is null and a.superseded_by is null and a.ended_at is null and a.valid_to = m.valid_to
          and a.valid_from < n.valid_from and (a.stated_to is null or a.stated_to > n.valid_from)
        order by a.id
        returning id
    loop
        perform loci_internal.supersede_siblings(p_namespace_id, v_id, 'inline', null, null, v_at);
    end loop;
end $$;
comment on function loci_internal.resume_facts(integer, uuid[], uuid[]) is
    'Let facts of interrupted memories hold again where these go on.';
