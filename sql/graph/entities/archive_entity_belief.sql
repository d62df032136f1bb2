-- Trigger: before what an entity says of itself changes, what was believed until now is kept, so that known_at can be
-- answered for every moment. The change's own time, updated_at, ends the old belief. One probe of the primary key of
-- entity_beliefs.
create or replace function loci_internal.archive_entity_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((
        select b.believed_to from (  -- in this order none but the primary key has them, new as the table may be
            select x.entity_id, x.believed_to from loci_data.entity_beliefs x
            where x.namespace_id = old.namespace_id and (x.entity_id, x.believed_to) <= (old.id, 'infinity')
            order by x.entity_id desc, x.believed_to desc limit 1) b
        where b.entity_id = old.id), old.created_at);
begin
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.entity_beliefs (namespace_id, entity_id, name, canonical_name, type, aliases, description,
                                          metadata,
                                          pinned_at, first_seen_at, merged_into, hidden, believed_at, believed_to)
    values (old.namespace_id, old.id, old.name, old.canonical_name, old.type, old.aliases, old.description,
            old.metadata,
            old.pinned_at, old.first_seen_at, old.merged_into, old.hidden, v_since, new.updated_at);
    return new;
end $$;
comment on function loci_internal.archive_entity_belief() is
    'Trigger: keep the ending belief about an entity in entity_beliefs.';

-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present
-- figures.
create or replace trigger entities_belief before update on loci_data.entities
    for each row when (old.name <> new.name or old.type <> new.type or old.aliases <> new.aliases
                       or old.metadata <> new.metadata
                       or old.description is distinct from new.description or old.pinned_at
                           is distinct from new.pinned_at
                       or old.first_seen_at <> new.first_seen_at or old.merged_into is distinct from new.merged_into
                       or old.hidden <> new.hidden)
    execute function loci_internal.archive_entity_belief();
