-- Nothing by default. Readable tables stand under the policies; everything else is done by functions that check the caller.
revoke all on all tables in schema loci from public, loci_app, loci_analyst;

grant select on
    loci.namespaces, loci.lineages, loci.memories, loci.memory_beliefs, loci.memory_closure, loci.memory_links,
    loci.memory_texts, loci.postings, loci.corpus_counts, loci.embedding_models, loci.memory_vectors, loci.embedding_queue,
    loci.entities, loci.entity_names, loci.memory_mentions, loci.name_candidates, loci.name_queue, loci.edge_types, loci.aspects, loci.attributes,
    loci.edges, loci.edge_observations, loci.working_memory, loci.conversation_turns
to loci_app, loci_analyst;
