-- The next pairs of facts for a model: at most p_limit, of the newest facts that wait. Facts that have none (left) leave the queue, 200 at most in
-- a call; done: nothing waits any more. Primary keys and silent_siblings. Called by pairs_to_judge and apply_verdicts; internal.
create or replace function loci.unjudged_pairs(p_namespace_id integer, p_limit integer)
returns table (older_id uuid, newer_id uuid)
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_settings jsonb := loci.settings(p_namespace_id);
    v_shown    text[] := '{}';
    v_done     uuid[] := '{}';
    v_id       uuid;
    v_pair     record;
    v_open     boolean;
begin
    for v_id in select q.attribute_id from loci_data.contradiction_queue q where q.namespace_id = p_namespace_id
                order by q.attribute_id desc limit 200 loop
        v_open := false;
        for v_pair in select s.older_id, s.newer_id from loci.silent_siblings(p_namespace_id, v_id, v_settings) s order by s.older_id, s.newer_id loop
            v_open := true;
            if cardinality(v_shown) < p_limit and v_pair.older_id || ' ' || v_pair.newer_id <> all (v_shown) then
                v_shown := v_shown || (v_pair.older_id || ' ' || v_pair.newer_id);
                older_id := v_pair.older_id;
                newer_id := v_pair.newer_id;
                return next;
            end if;
        end loop;
        if not v_open then
            v_done := v_done || v_id;
        end if;
        exit when cardinality(v_shown) >= p_limit;
    end loop;
    delete from loci_data.contradiction_queue q where q.namespace_id = p_namespace_id and q.attribute_id = any (v_done);
end $$;
comment on function loci.unjudged_pairs(integer, integer) is 'Pairs of facts that wait for a model, of the newest facts; facts without any leave the queue. Internal.';
