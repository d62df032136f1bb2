-- Record what a model said of pairs of facts, so that none is asked about twice, and do about it what the guards allow (row S7, judged_pairs):
-- decisions with signal `model` are made and, if they may be, applied. contradicts null: the model did not answer. One transaction is one
-- operation; undoing it, or a decision, brings the facts back, and the pairs stay judged. More that waits is left to a job.
-- p_verdicts: [{older_id, newer_id, contradicts, confidence, evidence}]. Returns one row a contradiction. Locks as every writer: aspects,
-- then attributes, in order of id. Called by the pass `contradictions`. Security definer: writes past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023.
create or replace function loci.apply_verdicts(p_namespace text, p_verdicts jsonb)
returns table (older_id uuid, newer_id uuid, guard text, supersession_id uuid, status text, held text)
language plpgsql volatile security definer set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_ns       integer := loci.authorize(p_namespace, 'writer');
    v_settings jsonb := loci.settings(v_ns);
    v_at       timestamptz;
    v_applied  uuid[];
begin
    if jsonb_typeof(p_verdicts) is distinct from 'array' then
        raise invalid_parameter_value using column = 'verdicts', message = 'verdicts must be an array';
    end if;
    perform from loci_data.aspects s
    where s.namespace_id = v_ns and s.id = any (array(
        select a.aspect_id from jsonb_to_recordset(p_verdicts) v(older_id uuid, newer_id uuid)
        cross join lateral (select i.aspect_id from loci_data.attributes i where i.namespace_id = v_ns and i.id in (v.older_id, v.newer_id)) a))
    order by s.id for no key update;
    v_at := clock_timestamp();
    return query
    with done as materialized (
        select j.* from loci.judged_pairs(v_ns, p_verdicts, v_settings) j
    ), decided as (
        insert into loci_data.supersessions as s (namespace_id, id, older_id, newer_id, signal, confidence, evidence, origin, status, created_at,
                                                  decided_at, decided_by)
        select v_ns, loci.uuid7(), d.older_id, d.newer_id, 'model', d.confidence, d.evidence, 'pass', d.status, v_at,
               case d.status when 'applied' then v_at end, case d.status when 'applied' then loci.caller() end
        from done d where d.guard is null order by d.older_id, d.newer_id
        returning s.id, s.older_id, s.newer_id
    )
    select d.older_id, d.newer_id, d.guard, s.id, d.status, d.held
    from done d left join decided s on s.older_id = d.older_id and s.newer_id = d.newer_id order by d.newer_id desc, d.older_id;
    v_applied := array(select s.id from loci_data.supersessions s
                       where s.namespace_id = v_ns and s.signal = 'model' and s.status = 'applied' and s.decided_at = v_at);
    perform loci.supersede_attributes(v_ns, v_applied, v_at);
    insert into loci_data.supersession_verdicts (namespace_id, older_id, newer_id, contradicts, confidence, judged_at)
    select v_ns, v.older_id, v.newer_id, v.contradicts, case when v.contradicts is not null then v.confidence end, v_at
    from jsonb_to_recordset(p_verdicts) v(older_id uuid, newer_id uuid, contradicts boolean, confidence double precision)
    where 2 = (select count(*) from loci_data.attributes a where a.namespace_id = v_ns and a.id in (v.older_id, v.newer_id))
    order by v.older_id, v.newer_id on conflict do nothing;
    if v_settings ->> 'supersession_model' <> 'off' and exists (select from loci.unjudged_pairs(v_ns, 1)) then
        perform loci.add_job(v_ns, 'contradictions', '{}', 'contradictions', 'dream');
    end if;
end $$;
comment on function loci.apply_verdicts(text, jsonb) is 'Record what a model said of pairs of facts and supersede or propose what the guards allow; one row a contradiction. Errors: 42501, P0002, 22023.';
