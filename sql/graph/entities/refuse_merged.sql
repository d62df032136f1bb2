-- Trigger: what is written to an entity that was merged into another, or removed, while the writer waited is refused
-- (40001), so that the writer looks the name up again. Edges, mentions and aspects: after the foreign key has waited
-- for the merge; the entity itself: on update. Lines of an export are let through: rows of the past stand on merged
-- entities. Costs one index probe where nothing was ever merged.
create or replace function loci_internal.refuse_merged() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_merged uuid[];
begin
    if tg_table_name = 'entities' then
        v_merged := array[old.id];
    elsif current_setting('loci.restoring', true) is distinct from 'on' then
        v_merged := array(select e.id from loci_data.entities e
                          where e.namespace_id = (select a.namespace_id from added a limit 1)
                            and e.merged_into is not null);
        if v_merged = '{}' then
            return null;
        elsif tg_table_name = 'edges' then
            v_merged := array(select a.source_id from added a where a.superseded_at is null
                              and a.source_id = any(v_merged)
                              union select a.target_id from added a where a.superseded_at is null
                                  and a.target_id = any(v_merged));
        else
            v_merged := array(select a.entity_id from added a where a.entity_id = any(v_merged));
        end if;
    end if;
    if v_merged <> '{}' then
        raise serialization_failure
            using message = format('entity %s was merged into another or removed while it was written', v_merged[1]),
            hint = 'Try again.';
    end if;
    return null;
end $$;
comment on function loci_internal.refuse_merged() is
    'Trigger: refuse what is written to an entity that has just been merged into another or removed.';

-- Nothing is written to an entity that was merged into another or removed: names and ids lead to the one that stays, or
-- nowhere.
create or replace trigger entities_merged before update on loci_data.entities
    for each row when (old.merged_into is not null and new.merged_into is not distinct from old.merged_into)
    execute function loci_internal.refuse_merged();
create or replace trigger edges_merged after insert on loci_data.edges
    referencing new table as added for each statement execute function loci_internal.refuse_merged();
create or replace trigger memory_mentions_merged after insert on loci_data.memory_mentions
    referencing new table as added for each statement execute function loci_internal.refuse_merged();
create or replace trigger aspects_merged after insert on loci_data.aspects
    referencing new table as added for each statement execute function loci_internal.refuse_merged();
