-- Details of a new memory or version: as stated, else for some of them those of the latest version (null: there is
-- none), else the default. Inlines.
create or replace function loci_internal.complete_memory_details(p_stated loci.memory_details,
                                                                 p_latest loci.memory_details)
                                                                     returns loci.memory_details
language sql immutable parallel safe
as $$
    select row(coalesce((p_stated).category, (p_latest).category, 'general'),
               coalesce((p_stated).tags, (p_latest).tags, '{}'),
               coalesce((p_stated).layer, (p_latest).layer, 2),
               coalesce((p_stated).importance, (p_latest).importance, 0.5),
               coalesce((p_stated).confidence, 1.0), coalesce((p_stated).metadata, (p_latest).metadata, '{}'),
               coalesce((p_stated).about, (p_latest).about))::loci.memory_details
$$;
comment on function loci_internal.complete_memory_details(loci.memory_details, loci.memory_details) is
    'Details as stated, else those of the latest version, else the defaults.';
