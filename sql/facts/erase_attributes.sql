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
    delete from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_gone);
    perform set_config('loci.erasing', 'on', true);
    perform loci_internal.refold_facts(p_namespace_id, v_older, clock_timestamp(), true);
    perform loci_internal.rebuild_fact_beliefs(p_namespace_id, v_older, v_gone);
    perform set_config('loci.erasing', '', true);
    return v_gone;
end $$;
comment on function loci_internal.erase_attributes(integer, uuid[]) is
    'Delete the attributes that rest on memories; their ids.';

-- What was believed of facts while erased ones (p_gone) had ended them is what would have been believed without these:
-- they hold as long as they do by themselves, or until the first of the others that supersede them now, from when that
-- was recorded on. The present row was refolded, and is believed since its last belief. A few rows a fact.
create or replace function loci_internal.rebuild_fact_beliefs(p_namespace_id integer, p_ids uuid[], p_gone uuid[])
returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
begin
    return;
end $$;
comment on function loci_internal.rebuild_fact_beliefs(integer, uuid[], uuid[]) is
    'Bring what was believed of facts in step, now that some that had ended them were erased.';
