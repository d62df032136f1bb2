-- Did an attribute hold at p_as_of, by what was known at p_known_at (infinity: by what is believed now), and how
-- important was it? A superseded one held until it was replaced; a deleted one never did. Reads attribute_beliefs only
-- where something changed since. The rule of list_aspects; inlines.
create or replace function loci_internal.attribute_at(p_attribute loci_data.attributes, p_as_of timestamptz,
                                                      p_known_at timestamptz)
returns table (held boolean, importance double precision, confidence double precision)
language sql stable parallel safe
as $$
    select coalesce(p_attribute.recorded_at <= p_known_at and coalesce(b.status, p_attribute.status) <> 'deleted'
                    and coalesce(b.valid_from, p_attribute.valid_from) <= p_as_of
                    and coalesce(case when b.status is null then p_attribute.valid_to else b.valid_to end,
                                 'infinity') > p_as_of, false),
           coalesce(b.importance, p_attribute.importance), coalesce(b.confidence, p_attribute.confidence)
    from (select) nothing
    left join lateral (
        select k.status, k.valid_from, k.valid_to, k.importance, k.confidence from loci_data.attribute_beliefs k
        where p_attribute.updated_at > p_known_at and k.namespace_id = p_attribute.namespace_id
          and k.attribute_id = p_attribute.id
          and k.believed_to > p_known_at
        order by k.believed_to limit 1) b on true
$$;
comment on function loci_internal.attribute_at(loci_data.attributes, timestamptz, timestamptz) is
    'Whether an attribute held at a moment, as known at another, and how important it was.';
