-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present figures.
create or replace trigger edges_belief before update on loci_data.edges
    for each row when ((old.valid_from, old.valid_to) is distinct from (new.valid_from, new.valid_to))
    execute function loci.keep_edge_belief();
create or replace trigger entities_belief before update on loci_data.entities
    for each row when (old.name <> new.name or old.type <> new.type or old.aliases <> new.aliases or old.metadata <> new.metadata
                       or old.description is distinct from new.description or old.pinned_at is distinct from new.pinned_at
                       or old.first_seen_at <> new.first_seen_at or old.merged_into is distinct from new.merged_into)
    execute function loci.keep_entity_belief();
create or replace trigger attributes_belief before update on loci_data.attributes
    for each row when ((old.status, old.superseded_by, old.confidence, old.importance, old.valid_from, old.valid_to)
                       is distinct from (new.status, new.superseded_by, new.confidence, new.importance, new.valid_from, new.valid_to))
    execute function loci.keep_attribute_belief();
