-- May the caller write this entry, and whose is it then? In its own space (owns_space) always. Under a key of one
-- segment a space belongs to the agent that has live entries in it, which is read and not kept, so it heals itself when
-- they expire. An admin that is bound to no space writes everywhere, for the owner where there is one. Any entry but
-- one that replaces a live one needs a free slot among working_memory_entries. The caller holds the lock of the
-- space. Expired entries are deleted first: that waits for an owner who renews one at this moment, so that it is
-- counted. Two ranges of the primary key. Errors: 42501, 53400 (key).
create or replace function loci_internal.reserve_working_memory_slot(p_namespace_id integer, p_key text, p_space text,
                                                                     p_now timestamptz) returns uuid
language plpgsql volatile
as $$
declare
    v_agent uuid := loci.current_agent();
    v_own   boolean := loci_internal.owns_space(p_namespace_id, p_space);
    v_owner uuid;
    v_live  bigint;
    v_limit integer;
begin
    delete from loci_data.working_memory w
    where w.namespace_id = p_namespace_id and w.expires_at <= p_now and w.key = any (array(
        select o.key from loci_internal.working_memory_key_ranges(p_space) r
        cross join lateral (select d.key from loci_data.working_memory d
                            where d.namespace_id = p_namespace_id and d.key >= r.lowest and d.key < r.bound
                              and d.key <> p_key and d.expires_at <= p_now
                            offset 0) o));
    select count(*) filter (where w.key <> p_key),
           (array_agg(w.agent_id order by w.stored_at, w.key) filter (where w.agent_id <> v_agent))[1]
    into v_live, v_owner
    from loci_internal.working_memory_key_ranges(p_space) r
    cross join lateral (select o.* from loci_data.working_memory o
                        where o.namespace_id = p_namespace_id and o.key >= r.lowest and o.key < r.bound
                          and o.expires_at > p_now offset 0) w;
    if not v_own and v_owner is not null and not loci_internal.is_admin(p_namespace_id) then
        raise insufficient_privilege using column = 'key',
            message = format('the space %s belongs to another agent, which has live entries in it', p_space),
            hint = 'Write under a space of your own; any space may be read. An admin may write here.';
    end if;
    v_limit := loci_internal.settings(p_namespace_id) ->> 'working_memory_entries';
    if v_live >= v_limit then
        raise configuration_limit_exceeded using column = 'key',
            message = format('the space %s holds %s live entries, and the limit is %s', p_space, v_live, v_limit),
            hint = 'Delete entries, overwrite one, wait until one expires, or raise the namespace''s setting '
                   'working_memory_entries.';
    end if;
    return case when v_own then v_agent else coalesce(v_owner, v_agent) end;
end $$;
comment on function loci_internal.reserve_working_memory_slot(integer, text, text, timestamptz) is
    'Owner of an entry that the caller may write. Errors: 42501, 53400.';
