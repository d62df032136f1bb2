-- Erasure of attributes, and their beliefs without what was erased.

-- Facts that rest on memories go with them, with the decisions about them and what was believed of them; what one of
-- them had ended is what it was before, and was never otherwise (rebuild_fact_beliefs). Returns those that went. Locked
-- in order of id. Indexes attributes_memory, supersessions_newer.
create or replace function loci_internal.erase_attributes(p_namespace_id integer, p_ids uuid[]) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_gone  uuid[] := array(select a.id from loci_data.attributes a
                            where a.namespace_id = p_namespace_id and a.memory_id = any (p_ids) order by a.id);
    v_older uuid[];
    v_ended uuid[];  -- of these, what is over because of one that goes
begin
    if v_gone = '{}' then
        return v_gone;
    end if;
    perform from loci_data.aspects p where p.namespace_id = p_namespace_id and p.id = any (array(
        select a.aspect_id from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_gone)))
    order by p.id for no key update;
    v_older := array(select distinct s.older_id from loci_data.supersessions s
                     where s.namespace_id = p_namespace_id and s.newer_id = any (v_gone)
                       and s.older_id <> all (v_gone));
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_gone || v_older)
    order by a.id for update;
    perform set_config('loci.erasing', 'on', true);
    v_ended := array(select a.id from loci_data.attributes a where a.namespace_id = p_namespace_id
                     and a.id = any (v_older) and a.superseded_by = any (v_gone));
    delete from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_gone);
    perform loci_internal.refold_facts(p_namespace_id, v_older, clock_timestamp(), true);
    perform loci_internal.rebuild_fact_beliefs(p_namespace_id, v_older, v_gone, v_ended);
    perform set_config('loci.erasing', '', true);
    return v_gone;
end $$;
comment on function loci_internal.erase_attributes(integer, uuid[]) is
    'Delete the attributes that rest on memories; their ids.';

-- Work out what was believed of facts (p_ids) in the spans in which a fact that is gone (p_gone) had superseded them,
-- and since then where that was the last (p_ended): by the decisions that are left, span by span. Null: nothing.
create or replace function loci_internal.corrected_fact_beliefs(p_namespace_id integer, p_ids uuid[], p_gone uuid[],
                                                                p_ended uuid[]) returns jsonb
language sql stable set search_path = ''
as $$
    with wrong as materialized (
        select b.attribute_id as id, b.believed_at as since, b.believed_to as until, b.own_to, b.valid_from,
               b.confidence, b.importance
        from loci_data.attribute_beliefs b
        where b.namespace_id = p_namespace_id and b.attribute_id = any (p_ids) and b.superseded_by = any (p_gone)
        union all
        select a.id, coalesce((select max(b.believed_to) from loci_data.attribute_beliefs b
                               where b.namespace_id = p_namespace_id and b.attribute_id = a.id), a.recorded_at),
               null, a.own_to, a.valid_from, a.confidence, a.importance
        from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (p_ended)
    ), rival as materialized (
        select s.older_id as id, n.id as newer_id, n.recorded_at, n.valid_from
        from loci_data.supersessions s
        join loci_data.attributes n on n.namespace_id = p_namespace_id and n.id = s.newer_id
        where s.namespace_id = p_namespace_id and s.older_id = any (p_ids) and s.status = 'applied'
          and n.taken_back_at is null and n.own_to is distinct from n.valid_from
    ), part as (
        select w.*, k.at, coalesce(lead(k.at) over (partition by w.id, w.since order by k.at), w.until) as before
        from wrong w
        cross join lateral (
            select w.since as at
            union
            select r.recorded_at from rival r where r.id = w.id and r.recorded_at > w.since
                and (w.until is null or r.recorded_at < w.until)) k
    )
    select jsonb_agg(jsonb_build_object(
               'id', p.id, 'superseded_by', n.newer_id, 'confidence', p.confidence, 'importance', p.importance,
               'valid_from', p.valid_from, 'own_to', p.own_to, 'at', p.at, 'before', p.before, 'valid_to', case
                   when n.newer_id is null then p.own_to else greatest(n.valid_from, p.valid_from) end))
    from part p
    left join lateral (
        select r.newer_id, r.valid_from from rival r
        where r.id = p.id and r.recorded_at <= p.at
          and (p.own_to is null or p.own_to > greatest(r.valid_from, p.valid_from))
        order by r.valid_from, r.recorded_at, r.newer_id limit 1) n on true
    where p.before is not null
$$;
comment on function loci_internal.corrected_fact_beliefs(integer, uuid[], uuid[], uuid[]) is
    'Earlier beliefs about facts without those that are gone.';

-- Beliefs about facts, from the time in which erased ones (p_gone) had ended them, become what would have been believed
-- without these: the facts hold as long as they do by themselves, or until the first of the others that supersede them
-- now, from when that was recorded on. p_ended: those that had been ended so until now; their rows have been refolded.
-- A few rows a fact.
create or replace function loci_internal.rebuild_fact_beliefs(p_namespace_id integer, p_ids uuid[], p_gone uuid[],
                                                              p_ended uuid[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_beliefs jsonb := loci_internal.corrected_fact_beliefs(p_namespace_id, p_ids, p_gone, p_ended);
begin
    delete from loci_data.attribute_beliefs b
    where b.namespace_id = p_namespace_id and b.attribute_id = any (p_ids) and b.superseded_by = any (p_gone);
    insert into loci_data.attribute_beliefs (namespace_id, attribute_id, status, superseded_by, confidence, importance,
                                             valid_from, valid_to, own_to, believed_at, believed_to)
    select p_namespace_id, b.id, case when b.superseded_by is null then 'active' else 'superseded' end, b.superseded_by,
           b.confidence, b.importance, b.valid_from, b.valid_to, b.own_to, b.at, b.before
    from jsonb_to_recordset(v_beliefs) b(id uuid, superseded_by uuid, confidence double precision,
                                         importance double precision, valid_from timestamptz, valid_to timestamptz,
                                         own_to timestamptz, at timestamptz, before timestamptz);
end $$;
comment on function loci_internal.rebuild_fact_beliefs(integer, uuid[], uuid[], uuid[]) is
    'Bring what was believed of facts in step, now that some that had ended them were erased.';
