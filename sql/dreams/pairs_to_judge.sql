-- Which pairs of sibling facts is a model to judge next? Both texts, under what they stand, and since when each is
-- true: the newer is by valid time, which is decided here. supersession_model_pairs of them. Facts that turn out to
-- have no such pair leave the queue. Security definer: past the policies; checks the caller itself. Errors: 42501,
-- P0002.
create or replace function loci_api.pairs_to_judge(p_namespace text)
returns table (older_id uuid, newer_id uuid, entity text, aspect text, single_valued boolean, older text,
               older_from timestamptz,
               older_to timestamptz, newer text, newer_from timestamptz, newer_to timestamptz)
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'writer');
begin
    return query
    select p.older_id, p.newer_id, e.name, s.name, s.single_valued, o.content, o.valid_from, o.valid_to, n.content,
           n.valid_from, n.valid_to
    from loci_internal.unjudged_fact_pairs(v_ns,
                                           (loci_internal.settings(v_ns) ->> 'supersession_model_pairs')::integer) p
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = v_ns
                        and a.id = p.older_id offset 0) o
    cross join lateral (select a.* from loci_data.attributes a where a.namespace_id = v_ns
                        and a.id = p.newer_id offset 0) n
    cross join lateral (select a.* from loci_data.aspects a where a.namespace_id = v_ns
                        and a.id = o.aspect_id offset 0) s
    cross join lateral (select i.* from loci_data.entities i where i.namespace_id = v_ns
                        and i.id = o.entity_id offset 0) e
    order by p.newer_id desc, p.older_id;
end $$;
comment on function loci_api.pairs_to_judge(text) is
    'Pairs of sibling facts on which all signals are silent and that no model has judged yet. Errors: 42501, P0002.';
