-- Which entity does this id stand for? Itself, or the one that it was merged into, over any number of merges; null:
-- there is none, or it was removed. A primary key look-up a merge.
create or replace function loci_internal.surviving_entity_id(p_namespace_id integer, p_id uuid) returns uuid
language plpgsql stable parallel safe set search_path = ''
as $$
declare
    v_id   uuid := p_id;
    v_into uuid;
begin
    loop
        select e.merged_into into v_into from loci_data.entities e where e.namespace_id = p_namespace_id
            and e.id = v_id;
        if not found then
            return null;
        elsif v_into is null then
            return v_id;
        elsif v_into = v_id then
            return null;  -- removed: it leads nowhere
        end if;
        v_id := v_into;
    end loop;
end $$;
comment on function loci_internal.surviving_entity_id(integer, uuid) is
    'The entity that an id stands for, after merges; null if there is none, or it was removed.';
