-- Trigger: before the spells of an edge change, what was believed until now is kept, so that known_at can be answered
-- for every moment. The change's own time, updated_at, ends the old belief; what was believed for no time is none, and
-- what follows from erasing was never otherwise. One probe of the primary key of edge_beliefs.
create or replace function loci_internal.archive_edge_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((select max(b.believed_to) from loci_data.edge_beliefs b
                                     where b.namespace_id = old.namespace_id and b.edge_id = old.id), old.recorded_at);
begin
    if new.updated_at = v_since or current_setting('loci.erasing', true) = 'on' then
        return new;
    end if;
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.edge_beliefs (namespace_id, edge_id, valid_from, valid_to, spells, believed_at, believed_to)
    values (old.namespace_id, old.id, old.valid_from, old.valid_to, old.spells, v_since, new.updated_at);
    return new;
end $$;
comment on function loci_internal.archive_edge_belief() is
    'Trigger: keep the ending belief about an edge''s spells in edge_beliefs.';

-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present
-- figures.
create or replace trigger edges_belief before update on loci_data.edges
    for each row
        when ((old.valid_from, old.valid_to, old.spells) is distinct from (new.valid_from, new.valid_to, new.spells))
    execute function loci_internal.archive_edge_belief();
