-- Hidden entities: those that nobody has stated.

-- Which entities did forgotten memories alone show, as known at a moment (infinity: now)? They are out of sight:
-- readers leave them out; writers find them by their names, and whatever is said of one brings it back. Indexes
-- entities_hidden, entity_beliefs_hidden: nothing to read where nothing was forgotten.
create or replace function loci_internal.hidden_entities(p_namespace_id integer, p_known_at timestamptz) returns uuid[]
language sql stable parallel safe set search_path = '' set enable_seqscan = off
as $$
    select array(
        select e.id from loci_data.entities e
        where e.namespace_id = p_namespace_id and e.hidden
          and (p_known_at = 'infinity' or not exists (
               select from loci_data.entity_beliefs b where b.namespace_id = p_namespace_id and b.entity_id = e.id
                   and b.believed_to > p_known_at))
        union all
        select b.entity_id from loci_data.entity_beliefs b
        where p_known_at < 'infinity' and b.namespace_id = p_namespace_id and b.hidden
          and b.believed_at <= p_known_at and b.believed_to > p_known_at)
$$;
comment on function loci_internal.hidden_entities(integer, timestamptz) is
    'Entities that forgotten memories alone show, as known at a moment.';

-- Entities that nothing but forgotten memories shows any more are hidden, from a moment on: mentioned by a memory, and
-- not stated otherwise (entity_is_stated). Others stay as they are. The caller holds them. A probe of each index an
-- entity.
create or replace function loci_internal.hide_entities(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns void
language sql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
    update loci_data.entities e set hidden = true, updated_at = greatest(e.updated_at, p_at)
    where e.namespace_id = p_namespace_id and e.id = any (array(
          select u.id from unnest(p_ids) u(id)
          cross join lateral (select x.* from loci_data.entities x
                              where x.namespace_id = p_namespace_id and x.id = u.id limit 1) x
          where x.merged_into is null and not x.hidden and x.mentions = 0
            and not loci_internal.entity_is_stated(x, null)
            and exists (select from loci_data.memory_mentions m
                        where m.namespace_id = p_namespace_id and m.entity_id = u.id offset 0)))
$$;
comment on function loci_internal.hide_entities(integer, uuid[], timestamptz) is
    'Hide those of some entities that forgotten memories alone show.';

-- Trigger: an entity that was hidden is there again as soon as something that counts shows it, or somebody says
-- something of it. Before entities_belief, in the order of names, which keeps what was believed until then.
create or replace function loci_internal.show_entity() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    new.hidden := false;
    if new.updated_at = old.updated_at then
        new.updated_at := clock_timestamp();
    end if;
    return new;
end $$;
comment on function loci_internal.show_entity() is
    'Trigger: an entity is no longer hidden.';

create or replace trigger entities_appear before update on loci_data.entities
    for each row when (old.hidden and new.hidden
                       and (new.mentions > 0 or new.observations > 0 or new.pinned
                            or (old.name, old.type, old.aliases, old.description, old.metadata)
                               is distinct from (new.name, new.type, new.aliases, new.description, new.metadata)))
    execute function loci_internal.show_entity();

create or replace function loci_internal.show_entities_with_aspects() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
begin
    update loci_data.entities e set hidden = false, updated_at = greatest(e.updated_at, clock_timestamp())
    from added a where e.namespace_id = a.namespace_id and e.id = a.entity_id and e.hidden;
    return null;
end $$;
comment on function loci_internal.show_entities_with_aspects() is
    'Trigger: entities that have got an aspect are no longer hidden.';

create or replace trigger aspects_appear after insert on loci_data.aspects
    referencing new table as added for each statement execute function loci_internal.show_entities_with_aspects();
