-- Trigger: before status, validity, importance or confidence of an attribute changes, what was believed until now is
-- kept, so that known_at can be answered for every moment. The change's own time, updated_at, ends the old belief; what
-- was believed for no time is none, and what follows from erasing was never otherwise.
create or replace function loci_internal.archive_attribute_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((select max(b.believed_to) from loci_data.attribute_beliefs b
                                     where b.namespace_id = old.namespace_id and b.attribute_id = old.id),
                                         old.recorded_at);
begin
    if new.updated_at = v_since or current_setting('loci.erasing', true) = 'on' then
        return new;
    end if;
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.attribute_beliefs (namespace_id, attribute_id, status, superseded_by, confidence, importance,
                                             valid_from, valid_to, own_to, believed_at, believed_to)
    values (old.namespace_id, old.id, old.status, old.superseded_by, old.confidence, old.importance, old.valid_from,
            old.valid_to, old.own_to, v_since, new.updated_at);
    return new;
end $$;
comment on function loci_internal.archive_attribute_belief() is
    'Trigger: keep the ending belief about an attribute in attribute_beliefs.';

-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present
-- figures.
create or replace trigger attributes_belief before update on loci_data.attributes
    for each row when ((old.status, old.superseded_by, old.confidence, old.importance, old.valid_from, old.valid_to,
                        old.own_to)
                       is distinct from (new.status, new.superseded_by, new.confidence, new.importance, new.valid_from,
                                         new.valid_to, new.own_to))
    execute function loci_internal.archive_attribute_belief();
