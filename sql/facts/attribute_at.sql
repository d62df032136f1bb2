-- Did an attribute hold at p_as_of, by what was known at p_known_at (infinity: by what is believed now; holds_at), and
-- how important was it? Reads attribute_beliefs only where something changed since. Inlines.
create or replace function loci_internal.attribute_at(p_attribute loci_data.attributes, p_as_of timestamptz,
                                                      p_known_at timestamptz)
returns table (held boolean, importance double precision, confidence double precision)
language sql stable parallel safe
as $$
    select loci.holds_at(p_attribute, p_as_of, p_known_at),
           coalesce(b.importance, p_attribute.importance), coalesce(b.confidence, p_attribute.confidence)
    from (select) nothing
    left join lateral (
        select k.importance, k.confidence from loci_data.attribute_beliefs k
        where p_attribute.updated_at > p_known_at and k.namespace_id = p_attribute.namespace_id
          and k.attribute_id = p_attribute.id
          and k.believed_to > p_known_at
        order by k.believed_to limit 1) b on true
$$;
comment on function loci_internal.attribute_at(loci_data.attributes, timestamptz, timestamptz) is
    'Whether an attribute held at a moment, as known at another, and how important it was.';
