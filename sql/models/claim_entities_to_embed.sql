-- Which entities does the worker embed next? Like claim_memories_to_embed: a fair share of each namespace that waits,
-- oldest
-- first, locked until the caller's transaction ends; a namespace in which memories are being erased waits. Security
-- definer: reads all namespaces.
create or replace function loci_api.claim_entities_to_embed(p_limit integer, p_model_id smallint default null)
returns table (namespace_id integer, entity_id uuid, model_id smallint, text text)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_model   smallint := (select m.id from loci_data.embedding_models m
                           where case when p_model_id is null then m.active else m.id = p_model_id
                             and (m.active or m.filling) end);
    v_waiting integer[];
begin
    perform loci_internal.require_operator('claim entities');
    v_waiting := array(select s.w
                       from (select w from loci_internal.waiting_namespaces('entity_queue', v_model) w
                             order by random() limit p_limit) s
                       where loci_internal.lock_background_work(s.w, 'worker', false));
    return query
    select q.namespace_id, q.entity_id, q.model_id, loci_internal.entity_embedding_text(e)
    from unnest(v_waiting) n(id)
    cross join lateral (
        select w.namespace_id, w.entity_id, w.model_id from loci_data.entity_queue w
        where w.model_id = v_model and w.namespace_id = n.id and w.error is null
        order by w.enqueued_at limit greatest(p_limit / greatest(cardinality(v_waiting), 1), 1)
        for update skip locked) q
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = q.namespace_id
                        and i.id = q.entity_id limit 1) e;
end $$;
comment on function loci_api.claim_entities_to_embed(integer, smallint) is
    'Lock and return up to p_limit entities that wait for a vector of a model (null: the active one), shared fairly '
    'between namespaces. Operator only.';
