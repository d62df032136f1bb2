-- The change feed and the operations log follow every table of meaning in the same transaction: kind, id, key, columns.
-- Behind 'all but', the columns that mean nothing are named, and all others do. Names begin with zz:
-- they fire last, and see what the others made of a row.
create or replace trigger zz_memories_created after insert on loci_data.memories
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('memory', 'id', 'lineage version', 'all but', 'namespace_id', 'id',
                                                   'doc_id', 'lineage_id', 'content', 'content_hash', 'fold_scope',
                                     'recorded_at', 'believed_at', 'observations', 'last_observed_at', 'created_by',
                                     'updated_at');
create or replace trigger zz_memories_changed after update on loci_data.memories
    for each row when ((old.believed_at, old.superseded_at)
                       is distinct from (new.believed_at, new.superseded_at))  -- see archive_memory_belief
    execute function loci_internal.log_row_change('memory', 'id', 'lineage version', 'all but', 'namespace_id', 'id',
                                                  'doc_id', 'lineage_id', 'content', 'content_hash', 'fold_scope',
                                     'recorded_at', 'believed_at', 'observations', 'last_observed_at', 'created_by',
                                     'updated_at');
create or replace trigger zz_memories_erased after delete on loci_data.memories
    referencing old table as gone for each statement execute function loci_internal.log_rows_change('memory', 'id', '');
create or replace trigger zz_memory_placements_created after insert on loci_data.memory_placements
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('placement', 'node_id', 'parent_id valid_from recorded_at',
                                                   'valid_to', 'superseded_at');
create or replace trigger zz_memory_placements_changed after update on loci_data.memory_placements
    for each row when ((old.superseded_at)
                       is distinct from (new.superseded_at))
    execute function loci_internal.log_row_change('placement', 'node_id', 'parent_id valid_from recorded_at',
                                                  'valid_to', 'superseded_at');
create or replace trigger zz_memory_placements_erased after delete on loci_data.memory_placements
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('placement', 'node_id', 'parent_id');
create or replace trigger zz_memory_links_created after insert on loci_data.memory_links
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('link', 'source_id', 'target_id type recorded_at', 'strength',
                                                   'superseded_at');
create or replace trigger zz_memory_links_changed after update on loci_data.memory_links
    for each row when ((old.superseded_at)
                       is distinct from (new.superseded_at))
    execute function loci_internal.log_row_change('link', 'source_id', 'target_id type recorded_at', 'strength',
                                                  'superseded_at');
create or replace trigger zz_memory_links_erased after delete on loci_data.memory_links
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('link', 'source_id', 'target_id');
create or replace trigger zz_conversation_turns_created after insert on loci_data.conversation_turns
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('turn', '', 'session_id id role');
create or replace trigger zz_conversation_turns_erased after delete on loci_data.conversation_turns
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('turn', '', 'session_id id role');
create or replace trigger zz_grants_created after insert on loci_data.grants
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('grant', 'agent_id', '', 'role', 'expires_at');
create or replace trigger zz_grants_changed after update on loci_data.grants
    for each row when ((old.role, old.expires_at)
                       is distinct from (new.role, new.expires_at))
    execute function loci_internal.log_row_change('grant', 'agent_id', '', 'role', 'expires_at');
create or replace trigger zz_grants_erased after delete on loci_data.grants
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('grant', 'agent_id', '');
create or replace trigger zz_invitations_created after insert on loci_data.invitations
    referencing new table as added for each statement
    execute function loci_internal.log_rows_change('invitation', 'agent_id', '', 'role', 'expires_at');
create or replace trigger zz_invitations_changed after update on loci_data.invitations
    for each row when ((old.role, old.expires_at)
                       is distinct from (new.role, new.expires_at))
    execute function loci_internal.log_row_change('invitation', 'agent_id', '', 'role', 'expires_at');
create or replace trigger zz_invitations_erased after delete on loci_data.invitations
    referencing old table as gone
        for each statement execute function loci_internal.log_rows_change('invitation', 'agent_id', '');
create or replace trigger zz_namespaces_created after insert on loci_data.namespaces
    for each row execute function loci_internal.log_row_change('namespace', '', 'name', 'description', 'settings');
create or replace trigger zz_namespaces_changed after update on loci_data.namespaces
    for each row when ((old.name, old.description, old.settings)
                       is distinct from (new.name, new.description, new.settings))
    execute function loci_internal.log_row_change('namespace', '', 'name', 'description', 'settings');
create or replace trigger zz_namespaces_erased after delete on loci_data.namespaces
    for each row execute function loci_internal.delete_namespace_changes();
